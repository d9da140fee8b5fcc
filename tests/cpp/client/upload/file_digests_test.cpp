// Digests that are kept beside the identity of a file that memory shows. The tests skip where the file system does not
// note changes.
#include "runtime/client/upload/file_digests.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <thread>

#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kPart = 64u << 10, kParts = 16, kSize = kParts * kPart;

std::vector<std::byte> random_bytes(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(size);
  for (std::byte& each : bytes) each = std::byte(random() & 0xff);
  return bytes;
}

void set_time(const fs::path& path, std::time_t seconds_ago) {
  const timespec at{std::time(nullptr) - seconds_ago, 0};
  const timespec times[2] = {at, at};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

class TestMapping {
 public:
  TestMapping(const fs::path& path, int protection, int flags) {
    const int file = ::open(path.c_str(), (protection & PROT_WRITE) != 0 && flags == MAP_SHARED ? O_RDWR : O_RDONLY);
    void* const at = ::mmap(nullptr, kSize, protection, flags, file, 0);
    ::close(file);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map " + path.string());
    memory_ = static_cast<std::byte*>(at);
  }
  ~TestMapping() { ::munmap(memory_, kSize); }
  TestMapping(const TestMapping&) = delete;
  TestMapping& operator=(const TestMapping&) = delete;

  std::byte* data() const { return memory_; }
  Bytes part(std::size_t index) const { return {memory_ + index * kPart, kPart}; }
  void make_read_only() const { ASSERT_EQ(::mprotect(memory_, kSize, PROT_READ), 0); }
  std::optional<FileDigests> digests() const { return FileDigests::of(memory_, kSize); }

 private:
  std::byte* memory_ = nullptr;
};

// No program can set the time of a file's last change, which must be two seconds ago. So all files are made first, and
// become old enough together.
class FileDigestsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    ::setenv("XDG_CACHE_HOME", (folder_->path() / "cache").c_str(), 1);  // before the first use
    for (unsigned i = 0; i < kFiles; ++i) make(std::to_string(i), i);
    make("8 (deleted)", kFiles);
    settle();
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override {
    if (!TestMapping(path(0), PROT_READ, MAP_SHARED).digests()) GTEST_SKIP() << "this file system notes no changes";
  }

  static fs::path path(unsigned number) { return folder_->path() / std::to_string(number); }
  static void make(const std::string& name, unsigned seed) {
    const fs::path path = folder_->path() / name;
    const std::vector<std::byte> bytes = random_bytes(kSize, seed);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    set_time(path, 3600);
  }
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(2050)); }
  // As a former process.
  static void keep_all(const TestMapping& mapping) {
    std::optional<FileDigests> digests = mapping.digests();
    ASSERT_TRUE(digests);
    digests->prepare();
    for (std::size_t i = 0; i < kParts; ++i) digests->add(mapping.part(i), sha256(mapping.part(i)));
    digests->keep();
  }
  static std::size_t known(const std::optional<FileDigests>& digests, const TestMapping& mapping) {
    std::size_t count = 0;
    for (std::size_t i = 0; digests && i < kParts; ++i) {
      const std::optional<Digest> digest = digests->find(mapping.part(i));
      if (digest) {
        EXPECT_EQ(*digest, sha256(mapping.part(i))) << i;
      }
      count += digest.has_value();
    }
    return count;
  }

  static constexpr unsigned kFiles = 14;
  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> FileDigestsTest::folder_;

TEST_F(FileDigestsTest, AnotherProcessFindsThem) {
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    const TestMapping mapping(path(1), PROT_READ, flags);
    if (flags == MAP_SHARED) {
      EXPECT_EQ(known(mapping.digests(), mapping), 0u);
      keep_all(mapping);
    }
    EXPECT_EQ(known(mapping.digests(), mapping), kParts);
  }
}

TEST_F(FileDigestsTest, PartsHaveOffsetsOfTheFileAndSizes) {
  const TestMapping mapping(path(2), PROT_READ, MAP_SHARED);
  keep_all(mapping);
  const auto later = FileDigests::of(mapping.data() + 3 * kPart, kSize - 3 * kPart);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->find(mapping.part(5)), sha256(mapping.part(5)));
  EXPECT_FALSE(later->find(mapping.part(5).first(kPart / 2)));
  EXPECT_FALSE(later->find({mapping.data() + 5 * kPart + 1, kPart}));
}

TEST_F(FileDigestsTest, MemoryThatCanBeWrittenIsNotTheFiles) {
  for (const int flags : {MAP_SHARED, MAP_PRIVATE}) {
    EXPECT_FALSE(TestMapping(path(4), PROT_READ | PROT_WRITE, flags).digests()) << flags;
  }
}

TEST_F(FileDigestsTest, OtherMemoryShowsNoFile) {
  const std::vector<std::byte> heap(kSize);
  EXPECT_FALSE(FileDigests::of(heap.data(), heap.size()));
  const TestMapping mapping(path(4), PROT_READ, MAP_SHARED);
  EXPECT_FALSE(FileDigests::of(mapping.data() - 1, kSize));
  EXPECT_FALSE(FileDigests::of(mapping.data(), kSize + (64u << 20))) << "beyond the mapping";
}

// Parts of a private mapping were written before it became read-only.
TEST_F(FileDigestsTest, PartsWithWrittenPagesAreHashed) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const TestMapping mapping(path(5), PROT_READ | PROT_WRITE, MAP_PRIVATE);
    std::vector<bool> is_written(kParts);
    for (unsigned i = 0; i < random() % 5; ++i) {
      const std::size_t at = random() % kSize;
      mapping.data()[at] ^= std::byte{1};
      is_written[at / kPart] = true;
    }
    mapping.make_read_only();
    keep_all(mapping);
    const auto digests = mapping.digests();
    ASSERT_TRUE(digests);
    const TestMapping original(path(5), PROT_READ, MAP_SHARED);
    const auto of_file = original.digests();
    for (std::size_t i = 0; i < kParts; ++i) {
      EXPECT_EQ(digests->find(mapping.part(i)).has_value(), !is_written[i]) << "seed " << seed << ", part " << i;
      // Nor were their digests kept as the file's.
      if (const auto digest = of_file->find(original.part(i))) {
        EXPECT_EQ(*digest, sha256(original.part(i))) << "seed " << seed << ", part " << i;
      }
    }
  }
}

TEST_F(FileDigestsTest, AReplacedFileIsNotTheMappedOne) {
  const TestMapping mapping(path(6), PROT_READ, MAP_SHARED);
  keep_all(mapping);
  fs::rename(path(7), path(6));
  EXPECT_FALSE(mapping.digests());
  const TestMapping now(path(6), PROT_READ, MAP_SHARED);
  EXPECT_EQ(known(now.digests(), now), 0u);
}

// The system says "8 (deleted)" of the mapping, which is the name of another file.
TEST_F(FileDigestsTest, ARemovedFileHasNone) {
  const TestMapping mapping(path(8), PROT_READ, MAP_SHARED);
  keep_all(mapping);
  fs::remove(path(8));
  EXPECT_FALSE(mapping.digests());
}

TEST_F(FileDigestsTest, AFileThatWasWrittenJustNowHasNone) {
  const TestMapping mapping(path(9), PROT_READ, MAP_SHARED);
  keep_all(mapping);
  set_time(path(9), 0);
  settle();
  EXPECT_FALSE(mapping.digests()) << "written within a minute";
  set_time(path(9), 3600);
  EXPECT_FALSE(mapping.digests()) << "changed within two seconds";
}

// Writing a file of the lower layer makes a copy, and the mapping goes on showing the former bytes.
TEST_F(FileDigestsTest, AFileOfAnOverlayHasNone) {
  const TemporaryFolder other;
  const std::string layers = "lowerdir=" + folder_->path().string() + ",upperdir=" + (other.path() / "upper").string() +
                             ",workdir=" + (other.path() / "work").string();
  const fs::path merged = other.path() / "merged";
  for (const char* const name : {"upper", "work", "merged"}) fs::create_directory(other.path() / name);
  constexpr int kCannotMount = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("overlay", merged.c_str(), "overlay", 0, layers.c_str()) != 0) {
      ::_exit(kCannotMount);
    }
    ::_exit(TestMapping(merged / "3", PROT_READ, MAP_SHARED).digests() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannotMount) GTEST_SKIP() << "an overlay cannot be mounted here";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "digests would be kept";
}

// The same size and time, other bytes: as after a copy that keeps times.
TEST_F(FileDigestsTest, AChangedFileIsHashedAnew) {
  struct stat before {};
  ASSERT_EQ(::stat(path(10).c_str(), &before), 0);
  keep_all(TestMapping(path(10), PROT_READ, MAP_SHARED));
  std::fstream(path(10), std::ios::in | std::ios::out | std::ios::binary).seekp(3 * kPart).write("changed", 7);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path(10).c_str(), times, 0), 0);
  settle();
  const TestMapping now(path(10), PROT_READ, MAP_SHARED);
  EXPECT_EQ(known(now.digests(), now), 0u);
  keep_all(now);
  EXPECT_EQ(known(now.digests(), now), kParts);
}

// A program writes into a mapping of the file again and again, and its first write is long ago: only the first one
// after the kernel has written the page back changes the file's time.
TEST_F(FileDigestsTest, LaterWritesIntoASharedMappingAreSeen) {
  const TestMapping writer(path(12), PROT_READ | PROT_WRITE, MAP_SHARED);
  writer.data()[0] ^= std::byte{1};
  set_time(path(12), 3600);
  settle();
  const TestMapping mapping(path(12), PROT_READ, MAP_SHARED);
  keep_all(mapping);
  writer.data()[0] ^= std::byte{2};
  settle();
  if (const auto digests = mapping.digests()) {
    if (const auto digest = digests->find(mapping.part(0))) {
      EXPECT_EQ(*digest, sha256(mapping.part(0)));
    }
  }
  EXPECT_FALSE(mapping.digests()) << "it was written just now";
}

TEST_F(FileDigestsTest, NothingIsKeptOfAFileThatWasNotWrittenBack) {
  const TestMapping mapping(path(13), PROT_READ, MAP_SHARED);
  auto digests = mapping.digests();
  ASSERT_TRUE(digests);
  digests->add(mapping.part(0), sha256(mapping.part(0)));
  EXPECT_FALSE(digests->find(mapping.part(0)));
  set_time(path(13), 7200);
  digests->prepare();
  digests->add(mapping.part(0), sha256(mapping.part(0)));
  EXPECT_FALSE(digests->find(mapping.part(0))) << "it has changed meanwhile";
}

TEST_F(FileDigestsTest, NothingIsKeptOfAFileThatChangesMeanwhile) {
  const auto kept = [] {
    const fs::path cache = folder_->path() / "cache" / "remotecl" / "digests";
    return std::distance(fs::directory_iterator(cache), fs::directory_iterator());
  };
  const TestMapping mapping(path(11), PROT_READ, MAP_SHARED);
  auto digests = mapping.digests();
  ASSERT_TRUE(digests);
  digests->prepare();
  digests->add(mapping.part(0), sha256(mapping.part(0)));
  set_time(path(11), 7200);
  const auto before = kept();
  digests->keep();
  EXPECT_EQ(kept(), before);
}

}  // namespace
}  // namespace remotecl::testing
