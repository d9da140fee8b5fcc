#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "store/small_store.h"
#include "store/temporary_folder.h"

// Content that is opened, and verified once for each state of its file.
namespace remotecl::testing {
namespace {
namespace fs = std::filesystem;

constexpr int kChunks = 5;

std::unique_ptr<Store> open_store(const fs::path& folder, std::string_view realm = {},
                                  Store::Kind kind = Store::Kind::kUploads, std::uint64_t size = 1u << 20) {
  return std::make_unique<Store>(std::make_unique<FileDirectory>(folder, FileDirectory::Sync::kNever),
                                 Store::Bounds{.directory = size, .memory = 0}, realm, kind);
}

// As of uploads, the key is the content's digest; owners have different ones.
std::vector<std::byte> chunk_of(const std::string& owner, int number) {
  std::vector<std::byte> chunk(static_cast<std::size_t>(number) * 1777 % 5000 + 1, std::byte(number));
  chunk.back() = std::byte(owner.size() * 16 + static_cast<std::size_t>(number));
  return chunk;
}

void keep_chunks(Store& store) {
  for (const std::string& owner : kOwners) {
    for (int number = 0; number < kChunks; ++number) {
      const auto chunk = chunk_of(owner, number);
      store.keep(owner, sha256(chunk), chunk);
    }
  }
}

// Every owner looks for everybody's. Gives how many were found.
int expect_right_chunks_or_absent(Store& store, const std::string& what) {
  int found = 0;
  for (const std::string& asker : kOwners) {
    for (const std::string& owner : kOwners) {
      for (int number = 0; number < kChunks; ++number) {
        const auto chunk = chunk_of(owner, number);
        StoredContent content = store.open(asker, sha256(chunk));
        if (!content.valid()) continue;
        EXPECT_EQ(asker, owner) << what << ": a digest is no key";
        std::vector<std::byte> read(content.size());
        if (!content.read(read)) continue;
        EXPECT_EQ(read, chunk) << what << " " << owner << " " << number;
        ++found;
      }
    }
  }
  return found;
}

// Changes files in place or replaces them, as other programs may.
void damage(const fs::path& folder, std::mt19937& random) {
  std::vector<fs::path> files;
  for (const auto& each : fs::directory_iterator(folder)) files.push_back(each.path());
  std::sort(files.begin(), files.end());
  for (int i = static_cast<int>(random() % 4); i >= 0; --i) {
    const fs::path& file = files[random() % files.size()];
    const fs::path& another = files[random() % files.size()];
    const auto size = fs::exists(file) ? fs::file_size(file) : 0;
    switch (random() % 6) {
      case 0:
        fs::resize_file(file, random() % (size + 1));
        break;
      case 1:
        fs::resize_file(file, size + 1 + random() % 100);
        break;
      case 2:
        if (another != file) fs::copy_file(another, file, fs::copy_options::overwrite_existing);
        break;
      case 3: {
        const fs::path other = folder / "other";
        fs::copy_file(another, other, fs::copy_options::overwrite_existing);
        fs::rename(other, file);
        break;
      }
      default: {
        std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
        stream.seekg(static_cast<std::streamoff>(random() % (size + 1)));
        const int was = stream.get();
        stream.clear();
        stream.seekp(-1, std::ios::cur);
        stream.put(static_cast<char>(was ^ (1 << random() % 8)));
      }
    }
  }
}

// Both stores know all files as verified when they are damaged, right after they were written.
TEST(UploadDamageTest, IsNeverGivenOut) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  int found = 0, damaged = 0;
  const auto writer = open_store(folder), reader = open_store(folder);
  for (unsigned seed = 0; seed < kCases; ++seed) {
    std::mt19937 random(seed);
    keep_chunks(*writer);
    ASSERT_EQ(expect_right_chunks_or_absent(*reader, "undamaged"), 2 * kChunks) << "seed " << seed;
    damage(folder, random);
    const std::string what = "seed " + std::to_string(seed);
    found += expect_right_chunks_or_absent(seed % 2 == 0 ? *reader : *writer, what);
    found += expect_right_chunks_or_absent(seed % 2 == 0 ? *writer : *reader, what);
    if (HasFailure()) return;
  }
  damaged = static_cast<int>(writer->counts().damaged + reader->counts().damaged);
  EXPECT_GT(found, kCases * kChunks);
  EXPECT_GT(damaged, kCases / 2);
}

TEST(UploadDamageTest, NorWhatChangesWhileItIsOpen) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  const auto store = open_store(folder);
  const auto chunk = chunk_of("alice", 3);
  store->keep("alice", sha256(chunk), chunk);
  const auto open = [&] { return store->open("alice", sha256(chunk)); };
  StoredContent content = open(), changes = open();
  std::vector<std::byte> read(content.size());
  ASSERT_TRUE(content.read(read));
  EXPECT_EQ(read, chunk);
  EXPECT_FALSE(content.read(MutableBytes(read).first(1))) << "beyond the end";
  ASSERT_TRUE(changes.read(MutableBytes(read).first(100)));
  std::fstream(fs::directory_iterator(folder)->path(), std::ios::binary | std::ios::in | std::ios::out).put('x');
  EXPECT_FALSE(changes.read(MutableBytes(read).first(100)));
}

// A disk that fails after the file was written, which changes no time: the bytes in memory are lost, and others read.
TEST(UploadDamageTest, NorWhatTheDiskHasLost) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  const auto store = open_store(folder);
  std::uint64_t damaged = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const auto chunk = chunk_of("alice", static_cast<int>(1 + random() % 4));
    store->keep("alice", sha256(chunk), chunk);
    StoredContent undamaged = store->open("alice", sha256(chunk));
    std::vector<std::byte> read(chunk.size());
    const auto half = static_cast<std::ptrdiff_t>(chunk.size() / 2);
    ASSERT_TRUE(undamaged.read({read.begin(), read.begin() + half}) &&
                undamaged.read({read.begin() + half, read.end()}));
    ASSERT_EQ(read, chunk);
    const fs::path path = fs::directory_iterator(folder)->path();
    struct stat before {};
    ASSERT_EQ(::stat(path.c_str(), &before), 0);
    const auto lost = random() % chunk.size();
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out)
        .seekp(static_cast<std::streamoff>(48 + lost))
        .put(static_cast<char>(chunk[lost] ^ std::byte(1 + random() % 255)));
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    StoredContent content = store->open("alice", sha256(chunk));
    ASSERT_TRUE(content.valid()) << "the file is as it was written";
    MutableBytes left(read);
    bool is_right = true;
    while (is_right && !left.empty()) {
      const std::size_t size = 1 + random() % left.size();
      is_right = content.read(left.first(size));
      left = left.subspan(size);
    }
    EXPECT_FALSE(is_right) << "seed " << seed;
    EXPECT_TRUE(left.empty()) << "seed " << seed;
    store->doubt("alice", sha256(chunk));
    EXPECT_FALSE(store->open("alice", sha256(chunk)).valid()) << "seed " << seed;
    EXPECT_TRUE(fs::is_empty(folder));
    ++damaged;
  }
  EXPECT_EQ(store->counts().damaged, damaged);
}

TEST(UploadDamageTest, NorWhatAnotherRealmOrKindHas) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  const auto chunk = chunk_of("alice", 4);
  const auto here = open_store(folder, "here"), there = open_store(folder, "there");
  const auto builds = open_store(folder, "here", Store::Kind::kBuilds);
  here->keep("alice", sha256(chunk), chunk);
  EXPECT_TRUE(here->open("alice", sha256(chunk)).valid());
  EXPECT_FALSE(there->open("alice", sha256(chunk)).valid());
  EXPECT_FALSE(builds->open("alice", sha256(chunk)).valid());
  EXPECT_FALSE(builds->find("alice", sha256(chunk)).has_value());
}

TEST(UploadDamageTest, BigUploadsDisplaceNoBuilds) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  const auto builds = open_store(folder, "", Store::Kind::kBuilds, 64u << 10);
  const auto uploads = open_store(folder, "", Store::Kind::kUploads, 64u << 10);
  const std::vector<std::byte> program(20'000, std::byte{1});
  builds->keep("alice", sha256(program), program);
  for (int i = 0; i < 50; ++i) {
    const std::vector<std::byte> chunk(10'000, std::byte(i));
    uploads->keep("alice", sha256(chunk), chunk);
  }
  EXPECT_LE(uploads->counts().bytes, 64u << 10);
  EXPECT_TRUE(open_store(folder, "", Store::Kind::kBuilds)->find("alice", sha256(program)).has_value());
}

// Two stores of one folder, as of two daemons, without room for everything.
TEST(UploadDamageTest, NorWhereSeveralRace) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (int each = 0; each < 2; ++each) {
    threads.emplace_back([&, each] {
      const auto store = open_store(folder, "", Store::Kind::kUploads, 15'000);
      for (int i = 0; i < 60; ++i) {
        keep_chunks(*store);
        found += expect_right_chunks_or_absent(*store, "store " + std::to_string(each));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(found, 0);
}

TEST(UploadDamageTest, NorWhatAKilledWriterLeaves) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  const auto reader = open_store(folder);
  int found = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      for (const auto store = open_store(folder);;) keep_chunks(*store);
    }
    found += expect_right_chunks_or_absent(*reader, "beside the writer");
    std::this_thread::sleep_for(std::chrono::microseconds(std::mt19937(seed)() % 20'000));
    ::kill(writer, SIGKILL);
    ::waitpid(writer, nullptr, 0);
    found += expect_right_chunks_or_absent(*reader, "after the writer");
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace remotecl::testing
