#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/protocol/sizes.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/threads/helper_threads.h"

namespace remotecl {

// One byte stream over several connections, because one core cannot send or receive fast enough. Each write
// is a run: its size, on the first carrier, and its bytes. Up to one block, these follow there too; otherwise
// blocks go to all carriers in turn, beginning with the first. So small runs cost no more than on a single
// connection, and each carrier's part of a large run is written, and read, by its own thread, directly from
// and to the caller's memory.
//
// As with every connection, one thread may read while another writes. The failure of any carrier ends the
// whole connection.
class StripedConnection final : public Connection {
 public:
  static constexpr std::size_t kBlockSize = kStripeBlock;
  static constexpr std::size_t kRunMax = kStripeRunMax;
  static constexpr std::size_t kCarriersMax = kStripesMax;

  // 2 to kCarriersMax carriers, in the same order at both ends.
  explicit StripedConnection(std::vector<std::shared_ptr<Connection>> carriers);
  ~StripedConnection() override;

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_ahead(MutableBytes to) override;
  void await_briefly() override { carriers_.front()->await_briefly(); }
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  // For the reading thread; valid until it reads.
  int wait_handle() const override { return carriers_[owner(position_)]->wait_handle(); }
  void await_writable(std::chrono::milliseconds time) override { carriers_.front()->await_writable(time); }
  void set_read_timeout(std::chrono::milliseconds timeout) override;
  void shutdown() override;
  std::size_t streams() const override { return carriers_.size(); }
  const PeerCertificate* peer_certificate() const override { return carriers_.front()->peer_certificate(); }
  bool vanished() const override;
  Delivered delivered() const override;
  double paced_rate() const override;

 private:
  static constexpr std::size_t kHeaderSize = 8;
  // How long to wait for a carrier without bytes while others bring some, and how long all of that may take,
  // because a thread that does not want to block has other connections to serve.
  static constexpr std::chrono::microseconds kPatience{100};
  static constexpr std::chrono::microseconds kAheadMax{1000};

  // The bytes to write: parts that are contiguous in the stream.
  struct Source {
    const iovec* parts;
    int count;
    std::uint64_t size() const;
    // Adds the bytes of a range as further vectors at `to`, and returns their number.
    int gather(std::uint64_t offset, std::uint64_t size, iovec* to) const;
  };

  std::size_t stride() const { return kBlockSize * carriers_.size(); }
  // Returns the carrier that brings the byte at this position of the current run.
  std::size_t owner(std::uint64_t position) const {
    return run_size_ > kBlockSize && position < run_size_ ? position / kBlockSize % carriers_.size() : 0;
  }
  bool write_run(const Source& source, std::uint64_t offset, std::uint64_t size);
  bool write_block(const Source& source, std::uint64_t offset, std::uint64_t size, std::uint64_t block);
  bool finish_begun(const Source& source, std::uint64_t size);

  enum class How { kBlocking, kNow, kAhead };
  std::ptrdiff_t read(MutableBytes to, How how);
  std::ptrdiff_t begin_run(How how);
  std::ptrdiff_t read_block(std::size_t carrier, MutableBytes to, std::uint64_t end, How how);
  void read_carrier(std::size_t carrier, MutableBytes to, std::uint64_t end, How how);
  std::uint64_t whole() const;
  std::ptrdiff_t deliver(std::uint64_t end);

  const std::vector<std::shared_ptr<Connection>> carriers_;

  // Used by the writing thread.
  HelperThreads writers_;
  std::array<std::byte, kHeaderSize> header_{};
  std::size_t header_left_ = 0;   // unsent bytes of it, in a run that try_write() has begun
  std::uint64_t begun_left_ = 0;  // remaining bytes of that run

  // Used by the reading thread, for the current run.
  HelperThreads readers_;
  std::array<std::byte, kHeaderSize> run_header_{};
  std::size_t run_header_have_ = 0;
  std::uint64_t run_size_ = 0;
  std::uint64_t position_ = 0;                      // bytes delivered to the caller
  std::array<std::uint64_t, kCarriersMax> next_{};  // by carrier: the first byte that it has not brought yet
  std::chrono::steady_clock::time_point ahead_end_;
};

}  // namespace remotecl
