#pragma once

#include "runtime/transport/bulk/bulk_transport.h"

namespace remotecl::testing {

// Borrows what it is asked to send, and receives nothing. Tests override what they look at.
class IdleBulkTransport : public BulkTransport {
 public:
  bool send(const BulkHeader&, const BulkSource&, Use) override { return true; }
  bool keeps_borrowed() const override { return true; }
  std::uint64_t bytes_sent() const override { return 0; }
  std::uint64_t completed() const override { return 0; }
  TransportKind sent_by() const override { return TransportKind::kTcp; }
  void reclaim(std::uint64_t) override {}
  bool receive_header(BulkHeader&) override { return false; }
  bool receive(const BulkDestination&) override { return false; }
  std::ptrdiff_t try_receive_header(BulkHeader&) override { return 0; }
  std::ptrdiff_t try_receive(const BulkDestination&) override { return 0; }
  std::ptrdiff_t try_discard(std::size_t) override { return 0; }
  void report_received() override {}
  int wait_handle() const override { return -1; }
  std::uint64_t bytes_received() const override { return 0; }
  TransportKind received_by() const override { return TransportKind::kTcp; }
  void shutdown() override {}
  bool vanished() const override { return false; }
  std::size_t streams() const override { return 1; }
};

}  // namespace remotecl::testing
