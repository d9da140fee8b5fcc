#include "server/isolation/driver_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>

#include "runtime/protocol/codec.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {

using server::DriverCache;
namespace fs = std::filesystem;

// Has one entry.
class SmallStore final : public ContentStore {
 public:
  std::optional<std::vector<std::byte>> find(const std::string&, const Digest&) override { return content; }
  void keep(const std::string&, const Digest&, Bytes bytes) override {
    content.emplace(bytes.begin(), bytes.end());
    ++kept;
  }
  void introduce(const Digest& said) override { owner = said; }

  std::optional<std::vector<std::byte>> content;
  int kept = 0;
  Digest owner{};
};

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct CachedFile {
  std::string_view path;
  Bytes content;
  REMOTECL_FIELDS(path, content)
};
struct CachedFiles {
  Sequence<CachedFile> files;
  REMOTECL_FIELDS(files)
};

std::vector<std::byte> packed(const std::vector<CachedFile>& files) {
  const CachedFiles all{std::span<const CachedFile>(files)};
  std::vector<std::byte> bytes(wire::encoded_size(all));
  std::byte* at = bytes.data();
  wire::encode(at, all);
  return bytes;
}

class DriverCacheTest : public ::testing::Test {
 protected:
  // A session whose driver finds and writes files in `folder`, until it ends.
  template <class Compile>
  void session(const TemporaryFolder& folder, Compile&& compile) {
    DriverCache cache(store_, folder.path());
    cache.introduce(owner_);
    compile();
    cache.save();
  }

  const Digest owner_ = sha256(as_bytes(std::string_view("somebody")));
  SmallStore store_;
  const TemporaryFolder first_, second_;
};

TEST_F(DriverCacheTest, LaterSessionsFindWhatWasCompiled) {
  session(first_, [&] {
    write(first_.path() / "pocl/AB/CD/f/64-1-1/f.so", "kernel");
    write(first_.path() / "pocl/AB/CD/program.bc", "program");
    write(first_.path() / "pocl/AB/CD/last_accessed", "");
  });
  EXPECT_EQ(store_.owner, owner_);
  session(second_, [&] {
    EXPECT_EQ(read(second_.path() / "pocl/AB/CD/f/64-1-1/f.so"), "kernel");
    EXPECT_EQ(read(second_.path() / "pocl/AB/CD/program.bc"), "program");
    write(second_.path() / "pocl/tempfile", "");
  });
  EXPECT_EQ(store_.kept, 1) << "nothing new";
  const TemporaryFolder third;
  session(third, [&] { write(third.path() / "pocl/AB/CD/g/64-1-1/g.so", "other"); });
  EXPECT_EQ(store_.kept, 2);
  const TemporaryFolder fourth;
  session(fourth, [&] {
    EXPECT_EQ(read(fourth.path() / "pocl/AB/CD/f/64-1-1/f.so"), "kernel");
    EXPECT_EQ(read(fourth.path() / "pocl/AB/CD/g/64-1-1/g.so"), "other");
  });
}

TEST_F(DriverCacheTest, NothingIsStoredIfNothingWasCompiled) {
  session(first_, [] {});
  EXPECT_EQ(store_.kept, 0);
}

TEST_F(DriverCacheTest, WhatWasUsedLastIsKept) {
  const std::string large(DriverCache::kSizeMax - 1000, 'x');
  session(first_, [&] {
    write(first_.path() / "old", large);
    fs::last_write_time(first_.path() / "old", fs::file_time_type::clock::now() - std::chrono::hours(1));
    write(first_.path() / "new", std::string(2000, 'y'));
    write(first_.path() / "too large", std::string(DriverCache::kSizeMax + 1, 'z'));
  });
  ASSERT_TRUE(store_.content);
  EXPECT_LE(store_.content->size(), DriverCache::kSizeMax + 100);
  session(second_, [&] {
    EXPECT_EQ(read(second_.path() / "new").size(), 2000u);
    EXPECT_FALSE(fs::exists(second_.path() / "old"));
  });
}

// A kernel may leave anything in its session's folder, and anything in the store of its owner.
TEST_F(DriverCacheTest, OnlyFilesOfTheFolderMove) {
  const TemporaryFolder other;
  write(other.path() / "secret", "secret");
  session(first_, [&] {
    fs::create_symlink(other.path() / "secret", first_.path() / "link");
    fs::create_directory_symlink(other.path(), first_.path() / "links");
    ASSERT_EQ(::mkfifo((first_.path() / "fifo").c_str(), 0700), 0);
    write(first_.path() / "file", "file");
  });
  ASSERT_TRUE(store_.content);
  EXPECT_EQ(*store_.content, packed({{"file", as_bytes(std::string_view("file"))}}));

  const fs::path inside = second_.path() / "cache";
  fs::create_directory(inside);
  const std::string absolute = (other.path() / "absolute").string();
  const Bytes content = as_bytes(std::string_view("x"));
  store_.content = packed({{"../outside", content},
                           {absolute, content},
                           {"a/../../outside", content},
                           {"", content},
                           {".", content},
                           {"a/inside", content}});
  DriverCache cache(store_, inside);
  cache.introduce(owner_);
  EXPECT_EQ(read(inside / "a/inside"), "x");
  EXPECT_FALSE(fs::exists(second_.path() / "outside"));
  EXPECT_FALSE(fs::exists(absolute));
}

TEST_F(DriverCacheTest, DamagedContentIsNothing) {
  store_.content = std::vector<std::byte>(100, std::byte{0xFF});
  session(first_, [] {});
  EXPECT_TRUE(fs::is_empty(first_.path()));
}

}  // namespace
}  // namespace remotecl::testing
