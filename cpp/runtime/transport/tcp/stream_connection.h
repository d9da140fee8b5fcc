#pragma once

#include "runtime/transport/connection.h"
#include "runtime/transport/tcp/link_pacer.h"

namespace remotecl {

// A connection over a stream socket. Owns the descriptor.
class StreamConnection final : public Connection {
 public:
  // `kind`: kTls if another process encrypts what goes through the socket.
  explicit StreamConnection(int descriptor, TransportKind kind = TransportKind::kTcp);
  ~StreamConnection() override;

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  int wait_handle() const override { return descriptor_; }
  void set_read_timeout(std::chrono::milliseconds timeout) override;
  void shutdown() override;
  TransportKind kind() const override { return kind_; }
  bool vanished() const override { return vanished_.load(std::memory_order_relaxed); }
  Delivered delivered() const override;
  double paced_rate() const override { return paced_rate_.load(std::memory_order_relaxed); }
  // Like try_read_some(), but the bytes can be read again.
  std::ptrdiff_t peek(MutableBytes to);
  // Ends the connection because the other machine does not answer.
  void give_up();

  // Set by the reading thread: whether it has read a part of a unit that the peer sends as a whole.
  void set_awaits_rest(bool awaits_rest) { awaits_rest_.store(awaits_rest, std::memory_order_relaxed); }
  bool awaits_rest() const { return awaits_rest_.load(std::memory_order_relaxed); }
  // The other side sees an end, and ends its direction too.
  void end_writing();

 private:
  void note_error();
  void pace();
  std::ptrdiff_t send_some(const iovec* parts, int count);
  std::ptrdiff_t try_receive(MutableBytes to, int flags);

  // A blocked write looks at its rate again this often. Only writes of this size are bulk data, whose rate matters.
  static constexpr std::chrono::milliseconds kPaceEvery{10};
  static constexpr std::ptrdiff_t kPacedFrom = 16 << 10;
  // The burst that leaves at once where the rate is limited: the bytes of this time, and at least two packets.
  static constexpr double kBurstSeconds = 0.002;
  static constexpr std::size_t kBurstMin = 2800;

  const int descriptor_;
  const TransportKind kind_;
  LinkPacer pacer_;  // used by the writing thread
  LinkPacer::Clock::time_point paced_{};
  std::atomic<double> paced_rate_{0};  // of pacer_
  std::atomic<bool> vanished_{false};
  std::atomic<bool> awaits_rest_{false};
};

}  // namespace remotecl
