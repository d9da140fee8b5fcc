// Bulk data through memory: what a peer offers, and what it writes into the memory that both see, at any time. Memory
// beyond its end, and bytes that were never written, must not be reached; the sanitizer and the counts tell.
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include "runtime/transport/shm/shared_memory.h"
#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/tcp/stream_connection.h"
#include "support/input.h"
#include "support/memory_connection.h"

using namespace remotecl;
using fuzz::Input;

namespace {

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

constexpr std::size_t kRing = SharedMemorySegment::kRingBytesMin;

// The offer is the input's; or an honest one, of memory whose beginning is.
void accept_offer(Input& input, bool is_honest) {
  SharedMemoryOffer offer;
  std::unique_ptr<SharedMemorySegment> segment;
  auto pipe = std::make_shared<fuzz::Pipe>([](Bytes) {});
  if (is_honest) {
    segment = SharedMemorySegment::create(kRing);
    if (segment == nullptr) return;
    offer = segment->offer();
    // Magic, cookie and answer, and then the words of the rings.
    auto* const memory = segment->out_memory().data() - 4096;
    const Bytes changes = input.rest();
    for (std::size_t i = 0; i < std::min<std::size_t>(changes.size(), 1024); ++i) memory[i] ^= changes[i];
  } else {
    offer = {input.take<std::uint32_t>(), input.take<std::uint32_t>(), input.take<std::uint64_t>()};
    if (offer.process == 1) offer.process = static_cast<std::uint32_t>(::getpid());
  }
  pipe->feed(std::as_bytes(std::span(&offer, 1)));
  pipe->end();
  try {
    shared_memory::accept(std::make_unique<fuzz::MemoryConnection>(pipe));
  } catch (const std::system_error&) {  // a connection in memory has no descriptor to wait for
  }
}

// A connection, and the peer that can write all that both see.
class Pair {
 public:
  Pair() {
    int ends[2];
    hostile_ = SharedMemorySegment::create(kRing);
    if (hostile_ == nullptr || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    auto segment = SharedMemorySegment::open(hostile_->offer());
    if (segment == nullptr || !hostile_->confirm(segment->answer())) std::abort();
    doorbell_ = std::make_unique<StreamConnection>(ends[1]);
    victim_ = std::make_unique<SharedMemoryConnection>(std::move(segment), std::make_unique<StreamConnection>(ends[0]));
  }

  // One step of either side.
  void step(Input& input) {
    const auto what = input.take<std::uint8_t>();
    switch (what % 12) {
      case 0:
        hostile_->out_words().written = index(input, written_);
        return;
      case 1:
        hostile_->in_words().taken = index(input, sent_);
        return;
      case 2:
        hostile_->out_words().reader_sleeps = input.take<std::uint8_t>();
        return;
      case 3:
        hostile_->in_words().writer_sleeps = input.take<std::uint8_t>();
        return;
      case 4:
        hostile_->in_words().reader_sleeps = input.take<std::uint32_t>();
        return;
      case 5:
        hostile_->out_words().writer_sleeps = input.take<std::uint32_t>();
        return;
      case 6:
        hostile_->out_words().ended = input.take<std::uint8_t>() == 0xff ? 1 : 0;
        return;
      case 7:
        std::memset(hostile_->out_memory().data(), what, kRing);
        return;
      case 8:
        if (input.take<std::uint8_t>() == 0xff) doorbell_->shutdown();
        return;
      case 9:
      case 10:
        return read(input.take<std::uint16_t>());
      default:
        return write(input.take<std::uint16_t>());
    }
  }

 private:
  // Near what is possible, or anything.
  static std::uint64_t index(Input& input, std::uint64_t now) {
    const auto shift = input.take<std::int16_t>();
    return shift == -1 ? input.take<std::uint64_t>() : now + static_cast<std::uint64_t>(shift);
  }
  void read(std::size_t size) {
    const auto to = std::make_unique<std::byte[]>(size);  // as large as it is: the sanitizer sees a byte too many
    const std::ptrdiff_t count = victim_->try_read_some({to.get(), size});
    if (count > static_cast<std::ptrdiff_t>(size)) complain("more was read than there was room for");
    if (count > 0) written_ += static_cast<std::uint64_t>(count);
    if (victim_->bytes_received() != written_) complain("bytes were miscounted");
  }
  void write(std::size_t size) {
    const auto from = std::make_unique<std::byte[]>(size);
    const std::ptrdiff_t count = victim_->try_write({from.get(), size});
    if (count > static_cast<std::ptrdiff_t>(size)) complain("more was written than there was");
    if (count > 0) sent_ += static_cast<std::uint64_t>(count);
  }

  std::unique_ptr<SharedMemorySegment> hostile_;
  std::unique_ptr<StreamConnection> doorbell_;
  std::unique_ptr<SharedMemoryConnection> victim_;
  std::uint64_t written_ = 0, sent_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const auto kind = input.take<std::uint8_t>();
  if (kind % 8 < 2) {
    accept_offer(input, kind % 8 == 1);
    return 0;
  }
  Pair pair;
  for (int steps = 0; !input.is_over() && steps < 200; ++steps) pair.step(input);
  return 0;
}
