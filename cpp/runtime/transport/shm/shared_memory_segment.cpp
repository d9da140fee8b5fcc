#include "runtime/transport/shm/shared_memory_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/sealed_memory.h"

namespace remotecl {
namespace {

constexpr std::uint64_t kMagic = 0x32676e6972'6c63;  // "clring2", changes with the layout
constexpr std::size_t kHeaderBytes = 4096;
constexpr char kName[] = "remotecl";

// Opens what another process of this user has created with create(), and nothing else that a peer may name:
// opening a terminal or a pipe, for example, would have side effects. The system lets a process see the
// descriptors of its own user's processes.
int open_memory(const SharedMemoryOffer& offer) {
  const std::string path = "/proc/" + std::to_string(offer.process) + "/fd/" + std::to_string(offer.descriptor);
  std::string expected = "/memfd:";
  expected.append(kName).append(" (deleted)");
  char target[64];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  if (length < 0 || std::string_view(target, static_cast<std::size_t>(length)) != expected) return -1;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return -1;
  struct stat status {};
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  if (::fstat(descriptor, &status) == 0 && status.st_uid == ::geteuid() && seals >= 0 && (seals & F_SEAL_SHRINK) != 0) {
    return descriptor;
  }
  ::close(descriptor);
  return -1;
}

using Finder = std::function<int(const SharedMemoryOffer&)>;

Finder& other_finder() {
  static Finder finder;
  return finder;
}

// Never 0, because untouched memory is 0.
std::optional<std::uint64_t> random_word() {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != sizeof word) return std::nullopt;
  return word | 1;
}

}  // namespace

struct SharedMemorySegment::Header {
  std::atomic<std::uint64_t> magic;
  std::atomic<std::uint64_t> cookie;  // proves to the opener that this is the memory that the peer offers
  std::atomic<std::uint64_t> answer;  // proves to the creator that the peer has opened it; 0: not opened yet
  std::atomic<std::uint32_t> opener;  // the opener's process; set before the answer is sent
  RingWords rings[2];                 // those written by the creator and by the opener
};

std::unique_ptr<SharedMemorySegment> SharedMemorySegment::create(std::size_t ring_bytes) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  const auto cookie = random_word();
  const int descriptor = cookie ? make_sealed_memory(kName, size_of(ring_bytes)) : -1;
  if (descriptor < 0) return nullptr;
  std::byte* const memory = map(descriptor, size_of(ring_bytes));
  if (memory == nullptr) {
    ::close(descriptor);
    return nullptr;
  }
  std::unique_ptr<SharedMemorySegment> segment(new SharedMemorySegment(true, memory, ring_bytes));
  segment->descriptor_ = descriptor;
  segment->offer_ = {static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(descriptor), *cookie};
  Header& header = *new (memory) Header{};
  header.cookie = *cookie;
  header.magic = kMagic;
  return segment;
}

int SharedMemorySegment::find(const SharedMemoryOffer& offer) {
  const int descriptor = open_memory(offer);
  std::uint64_t found[2]{};  // how a Header begins
  static_assert(offsetof(Header, magic) == 0 && offsetof(Header, cookie) == sizeof found[0]);
  const bool is_offered = descriptor >= 0 && ::pread(descriptor, found, sizeof found, 0) == sizeof found &&
                          found[0] == kMagic && found[1] == offer.cookie;
  if (is_offered || descriptor < 0) return descriptor;
  ::close(descriptor);
  return -1;
}

void SharedMemorySegment::find_through(Finder finder) { other_finder() = std::move(finder); }

std::unique_ptr<SharedMemorySegment> SharedMemorySegment::open(const SharedMemoryOffer& offer) {
  const auto answer = random_word();
  const Finder& finder = other_finder();
  const int descriptor = !answer ? -1 : finder ? finder(offer) : open_memory(offer);
  if (descriptor < 0) return nullptr;
  struct stat status {};
  ::fstat(descriptor, &status);
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::size_t ring_bytes = size < kHeaderBytes ? 0 : (size - kHeaderBytes) / 2;
  // The check of the size also excludes huge pages: a peer could take those back, and the system might be
  // unable to replace them.
  const bool possible = ring_bytes >= kRingBytesMin && ring_bytes <= kRingBytesMax && std::has_single_bit(ring_bytes) &&
                        size == size_of(ring_bytes);
  std::byte* const memory = possible ? map(descriptor, size) : nullptr;
  ::close(descriptor);
  if (memory == nullptr) return nullptr;
  std::unique_ptr<SharedMemorySegment> segment(new SharedMemorySegment(false, memory, ring_bytes));
  Header& header = segment->header();
  std::uint64_t nobody = 0;
  if (header.magic != kMagic || header.cookie != offer.cookie ||
      !header.answer.compare_exchange_strong(nobody, *answer)) {
    return nullptr;
  }
  header.opener = static_cast<std::uint32_t>(::getpid());
  segment->offer_ = offer;
  segment->answer_ = *answer;
  return segment;
}

SharedMemorySegment::SharedMemorySegment(bool creator, std::byte* memory, std::size_t ring_bytes)
    : creator_(creator), memory_(memory), ring_bytes_(ring_bytes) {}

SharedMemorySegment::~SharedMemorySegment() {
  close_descriptor();
  ::munmap(memory_, size_of(ring_bytes_));
}

bool SharedMemorySegment::confirm(std::uint64_t answer) {
  close_descriptor();
  return answer != 0 && header().answer == answer;
}

std::uint32_t SharedMemorySegment::peer_process() const { return creator_ ? header().opener.load() : offer_.process; }

RingWords& SharedMemorySegment::out_words() const { return header().rings[creator_ ? 0 : 1]; }
RingWords& SharedMemorySegment::in_words() const { return header().rings[creator_ ? 1 : 0]; }

// Returns null if the system refuses. Pages come as the rings are used, so that a client that moves no bulk data costs
// none.
std::byte* SharedMemorySegment::map(int descriptor, std::size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return nullptr;
  ::madvise(memory, size, MADV_HUGEPAGE);  // if the system has any for shared memory
  return static_cast<std::byte*>(memory);
}

std::size_t SharedMemorySegment::size_of(std::size_t ring_bytes) { return kHeaderBytes + 2 * ring_bytes; }

SharedMemorySegment::Header& SharedMemorySegment::header() const {
  return *std::launder(reinterpret_cast<Header*>(memory_));
}

MutableBytes SharedMemorySegment::ring_memory(std::size_t index) const {
  return {memory_ + kHeaderBytes + index * ring_bytes_, ring_bytes_};
}

void SharedMemorySegment::close_descriptor() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

}  // namespace remotecl
