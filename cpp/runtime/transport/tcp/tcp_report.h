#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace remotecl {

// Linux's report of a TCP connection (TCP_INFO): glibc's tcp_info, and what the kernel has added to it since. The
// kernel's own header, <linux/tcp.h>, cannot be included beside glibc's, which Asio includes.
struct TcpReport {
  tcp_info first{};
  std::uint64_t pacing_rate = 0, pacing_rate_max = 0;
  std::uint64_t bytes_acknowledged = 0, bytes_received = 0;
  std::uint32_t segments_out = 0, segments_in = 0;
  std::uint32_t bytes_not_sent = 0;
  std::uint32_t round_trip_min_us = 0;
  std::uint32_t data_segments_in = 0, data_segments_out = 0;
  std::uint64_t delivery_rate = 0;  // bytes per second
  std::uint64_t busy_us = 0;        // while there was something to send or to be acknowledged
  std::uint64_t window_limited_us = 0;

  // Whether there was too little to send for delivery_rate to be the connection's.
  bool is_limited_by_application() const { return (reinterpret_cast<const unsigned char*>(&first)[7] & 1) != 0; }

  // Nothing if the socket is none of TCP.
  static std::optional<TcpReport> of(int descriptor) {
    TcpReport report;
    socklen_t size = sizeof report;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &report, &size) != 0) return std::nullopt;
    return report;
  }
};
static_assert(offsetof(TcpReport, round_trip_min_us) == 148 && offsetof(TcpReport, window_limited_us) == 176);

}  // namespace remotecl
