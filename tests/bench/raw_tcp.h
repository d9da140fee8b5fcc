#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remotecl::bench {

// The ceilings: what plain TCP on 127.0.0.1 does between this process and a child process, with
// TCP_NODELAY and the system's default socket buffers. Owned by main, used by its thread only. Constructed
// before the first OpenCL call, because it forks.
class RawPeer {
 public:
  RawPeer();
  ~RawPeer();
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  // Each returns the seconds it took and throws when the peer fails.
  double round_trip();                                 // 64 bytes there and back
  double send_bulk(const uint8_t* data, size_t size);  // until the peer confirms the last byte
  // The same, but the peer receives into a small buffer that stays in its cache. Faster than memory to
  // memory, and not what a transfer between two buffers can have.
  double send_discarded(const uint8_t* data, size_t size);
  double receive_bulk(uint8_t* data, size_t size);  // from the request to the last byte
  // As send_bulk, a part over each of so many connections, by a thread of its own.
  double send_bulk_over(size_t connections, const uint8_t* data, size_t size);
  double receive_bulk_over(size_t connections, uint8_t* data, size_t size);
  double send_messages(size_t count);  // coalesced messages, until all are parsed

 private:
  void connect_further(size_t connections);

  pid_t child_ = -1;
  int echo_ = -1;
  int bulk_ = -1;
  std::vector<int> further_;  // for send_bulk_over
  uint16_t port_ = 0;
  std::vector<uint8_t> batch_;
};

}  // namespace remotecl::bench
