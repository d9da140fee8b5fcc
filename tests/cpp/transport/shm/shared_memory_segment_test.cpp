#include "runtime/transport/shm/shared_memory_segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <vector>

namespace remotecl {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::size_t count_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

// Offers a descriptor of this process.
SharedMemoryOffer offer_of(int descriptor, std::uint64_t cookie = 1) {
  return {static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(descriptor), cookie};
}

// Memory as a hostile peer could make it. -1 for `copied`: of nothing.
int make_memory(const char* name, std::size_t size, int seals, int copied = -1) {
  const int descriptor = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  EXPECT_EQ(::ftruncate(descriptor, static_cast<off_t>(size)), 0);
  std::byte header[64];
  if (copied >= 0) {
    EXPECT_EQ(::pread(copied, header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
    EXPECT_EQ(::pwrite(descriptor, header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  }
  EXPECT_EQ(::fcntl(descriptor, F_ADD_SEALS, seals), 0);
  return descriptor;
}

class SharedMemorySegmentTest : public ::testing::Test {
 protected:
  std::unique_ptr<SharedMemorySegment> segment_ = SharedMemorySegment::create(SharedMemorySegment::kRingBytesMin);
  SharedMemoryOffer offer_ = segment_->offer();
};

TEST_F(SharedMemorySegmentTest, BothSidesSeeTheSameMemory) {
  const auto other = SharedMemorySegment::open(offer_);
  ASSERT_NE(other, nullptr);
  EXPECT_TRUE(segment_->confirm(other->answer()));
  ASSERT_EQ(segment_->out_memory().size(), SharedMemorySegment::kRingBytesMin);
  ASSERT_EQ(other->in_memory().size(), SharedMemorySegment::kRingBytesMin);
  ASSERT_NE(segment_->out_memory().data(), other->in_memory().data());
  segment_->out_memory().back() = std::byte{1};
  other->out_memory().front() = std::byte{2};
  EXPECT_EQ(other->in_memory().back(), std::byte{1});
  EXPECT_EQ(segment_->in_memory().front(), std::byte{2});
  segment_->out_words().written = 3;
  other->out_words().written = 4;
  EXPECT_EQ(other->in_words().written, 3u);
  EXPECT_EQ(segment_->in_words().written, 4u);
}

TEST_F(SharedMemorySegmentTest, OnlyOneCanOpenIt) {
  const auto other = SharedMemorySegment::open(offer_);
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(SharedMemorySegment::open(offer_), nullptr);
  EXPECT_TRUE(segment_->confirm(other->answer()));
  EXPECT_EQ(SharedMemorySegment::open(offer_), nullptr) << "and after that there is nothing to open";
}

TEST_F(SharedMemorySegmentTest, WrongOffers) {
  SharedMemoryOffer wrong = offer_;
  wrong.cookie ^= 2;
  EXPECT_EQ(SharedMemorySegment::open(wrong), nullptr);
  wrong = offer_;
  wrong.process = 0x7fffffff;
  EXPECT_EQ(SharedMemorySegment::open(wrong), nullptr);
  wrong.process = 1;
  EXPECT_EQ(SharedMemorySegment::open(wrong), nullptr);
  wrong = offer_;
  wrong.descriptor = 0xffffffff;
  EXPECT_EQ(SharedMemorySegment::open(wrong), nullptr);
  EXPECT_EQ(SharedMemorySegment::open({}), nullptr);
  EXPECT_NE(SharedMemorySegment::open(offer_), nullptr) << "failed attempts take nothing away";
}

TEST_F(SharedMemorySegmentTest, WrongAnswers) {
  EXPECT_FALSE(segment_->confirm(0)) << "nobody has opened it";
  EXPECT_FALSE(segment_->confirm(1));
  EXPECT_EQ(SharedMemorySegment::open(offer_), nullptr) << "the creator has given up";
}

// Opening a pipe would block, opening a terminal could take it over; a peer must not be able to ask for that.
TEST_F(SharedMemorySegmentTest, OtherFilesAreNotOpened) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(SharedMemorySegment::open(offer_of(ends[0])), nullptr);
  ::close(ends[0]);
  ::close(ends[1]);
  char path[] = "/tmp/memfd:remotecl-XXXXXX";
  const int file = ::mkstemp(path);
  ASSERT_EQ(::ftruncate(file, 4096 + 2 * 4096), 0);
  EXPECT_EQ(SharedMemorySegment::open(offer_of(file)), nullptr);
  ::unlink(path);
  EXPECT_EQ(SharedMemorySegment::open(offer_of(file)), nullptr);
  ::close(file);
}

TEST_F(SharedMemorySegmentTest, MemoryThatIsNotAsItHasToBe) {
  constexpr std::size_t kSize = 4096 + 2 * SharedMemorySegment::kRingBytesMin;
  const int real = static_cast<int>(offer_.descriptor);
  const struct {
    const char* what;
    const char* name;
    std::size_t size;
    int seals;
    int copied;
    bool taken;
  } cases[] = {
      {"a faithful copy", "remotecl", kSize, kSeals, real, true},
      {"that can be cut off under us", "remotecl", kSize, F_SEAL_SEAL, real, false},
      {"of somebody else", "pulseaudio", kSize, kSeals, real, false},
      {"without our header", "remotecl", kSize, kSeals, -1, false},
      {"a byte too short", "remotecl", kSize - 1, kSeals, real, false},
      {"only the header", "remotecl", 4096, kSeals, real, false},
      {"less than the header", "remotecl", 100, kSeals, real, false},
      {"rings whose size is no power of two", "remotecl", 4096 + 2 * 3 * 4096, kSeals, real, false},
      {"too large", "remotecl", 4096 + 4 * SharedMemorySegment::kRingBytesMax, kSeals, real, false},
  };
  for (const auto& each : cases) {
    const int descriptor = make_memory(each.name, each.size, each.seals, each.copied);
    EXPECT_EQ(SharedMemorySegment::open(offer_of(descriptor, offer_.cookie)) != nullptr, each.taken) << each.what;
    ::close(descriptor);
  }
}

TEST(SharedMemorySegment, CannotBeCutOff) {
  const auto segment = SharedMemorySegment::create();
  const int descriptor = static_cast<int>(segment->offer().descriptor);
  EXPECT_NE(::ftruncate(descriptor, 0), 0);
  struct stat status {};
  ASSERT_EQ(::fstat(descriptor, &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(SharedMemorySegment, LeavesNothingBehind) {
  const std::size_t before = count_descriptors();
  SharedMemoryOffer offer;
  {
    const auto segment = SharedMemorySegment::create();
    offer = segment->offer();
  }
  EXPECT_EQ(SharedMemorySegment::open(offer), nullptr);
  {
    const auto segment = SharedMemorySegment::create();
    const auto other = SharedMemorySegment::open(segment->offer());
    EXPECT_TRUE(segment->confirm(other->answer()));
    EXPECT_EQ(count_descriptors(), before) << "the memory stays, its descriptors do not";
    EXPECT_NE(segment->offer().cookie, offer.cookie);
  }
  EXPECT_EQ(count_descriptors(), before);
}

}  // namespace
}  // namespace remotecl
