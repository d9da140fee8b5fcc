#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/protocol/sizes.h"
#include "runtime/transport/connection.h"
#include "runtime/transport/threads/helper_threads.h"

namespace remotecl {

// One stream of bytes over several connections, for more than one core can send or receive. What is written at a time
// is a run: its size, on the first carrier, and its bytes, which are there too unless they are more than a block; else
// blocks go to all carriers in turn, beginning with the first one. So small runs cost what they cost without carriers
// beside the first one, and of large ones each carrier is written, and read, by a thread of its own, straight from and
// into the caller's memory.
//
// As with every connection one thread may read and another write at the same time. The failure of any carrier is that
// of the whole.
class StripedConnection final : public Connection {
 public:
  static constexpr std::size_t kBlockSize = kStripeBlock;
  static constexpr std::size_t kRunMax = kStripeRunMax;
  static constexpr std::size_t kCarriersMax = kStripesMax;

  // From 2 to kCarriersMax, in the same order at both ends.
  explicit StripedConnection(std::vector<std::shared_ptr<Connection>> carriers);
  ~StripedConnection() override;

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_ahead(MutableBytes to) override;
  void await_briefly() override { carriers_.front()->await_briefly(); }
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  // For the thread that reads, and valid until it reads.
  int wait_handle() const override { return carriers_[owner(position_)]->wait_handle(); }
  void await_writable(std::chrono::milliseconds time) override { carriers_.front()->await_writable(time); }
  void set_read_timeout(std::chrono::milliseconds timeout) override;
  void shutdown() override;
  std::size_t streams() const override { return carriers_.size(); }
  const PeerCertificate* peer_certificate() const override { return carriers_.front()->peer_certificate(); }
  bool vanished() const override;

 private:
  static constexpr std::size_t kHeaderSize = 8;
  // How long a carrier without bytes is waited for while others bring some, and how long all of that may take: whoever
  // does not want to block has other connections to look after.
  static constexpr std::chrono::microseconds kPatience{100};
  static constexpr std::chrono::microseconds kAheadMax{1000};

  // What is to be written: parts of it that lie behind each other in the stream.
  struct Source {
    const iovec* parts;
    int count;
    std::uint64_t size() const;
    // The bytes of a range, as further vectors behind `to`; how many.
    int gather(std::uint64_t offset, std::uint64_t size, iovec* to) const;
  };

  std::size_t stride() const { return kBlockSize * carriers_.size(); }
  // Which carrier brings the byte at this place of the run that is being read.
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

  // The writer's.
  HelperThreads writers_;
  std::array<std::byte, kHeaderSize> header_{};
  std::size_t header_left_ = 0;   // of it, unsent: of a run that try_write() has begun
  std::uint64_t begun_left_ = 0;  // bytes of that run

  // The reader's. Of the run that is being read:
  HelperThreads readers_;
  std::array<std::byte, kHeaderSize> run_header_{};
  std::size_t run_header_have_ = 0;
  std::uint64_t run_size_ = 0;
  std::uint64_t position_ = 0;                      // what the caller has been given
  std::array<std::uint64_t, kCarriersMax> next_{};  // of each carrier: the first byte that it has yet to bring
  std::chrono::steady_clock::time_point ahead_end_;
};

}  // namespace remotecl
