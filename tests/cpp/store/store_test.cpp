#include "runtime/store/store.h"

#include <gtest/gtest.h>

#include "store/fake_directory.h"
#include "store/small_store.h"

namespace remotecl::testing {
namespace {

std::string text_of(const std::optional<std::vector<std::byte>>& content) {
  return content ? std::string(as_text(*content)) : "(absent)";
}

class StoreTest : public ::testing::Test {
 protected:
  Store open(const Store::Bounds& bounds = kNoMemory, std::string_view realm = {}) {
    return Store(std::make_unique<FakeDirectory>(folder_), bounds, realm);
  }
  static bool has(Store& store, int number, const std::string& owner = "alice") {
    return store.find(owner, key_of(number)).has_value();
  }
  static void keep(Store& store, int number, std::size_t size, const std::string& owner = "alice") {
    store.keep(owner, key_of(number), std::vector<std::byte>(size, std::byte(number)));
  }

  const std::shared_ptr<FakeFolder> folder_ = std::make_shared<FakeFolder>();
};

TEST_F(StoreTest, FindsWhatWasKeptAlsoByAnotherProcess) {
  Store first = open(), second = open();
  first.keep("alice", key_of(1), as_bytes("content"));
  first.keep("alice", key_of(2), {});
  EXPECT_EQ(text_of(first.find("alice", key_of(1))), "content");
  EXPECT_EQ(text_of(second.find("alice", key_of(1))), "content");
  EXPECT_EQ(text_of(second.find("alice", key_of(2))), "");
  EXPECT_EQ(text_of(second.find("alice", key_of(3))), "(absent)");
  first.keep("alice", key_of(1), as_bytes("newer"));
  EXPECT_EQ(text_of(second.find("alice", key_of(1))), "newer");
}

TEST_F(StoreTest, NobodyElseFindsIt) {
  Store ours = open(kNoMemory, "ours"), theirs = open(kNoMemory, "theirs");
  ours.keep("alice", key_of(1), as_bytes("content"));
  EXPECT_TRUE(has(ours, 1, "alice"));
  for (const char* owner : {"bob", "", "alic", "alice ", "5:alice"}) EXPECT_FALSE(has(ours, 1, owner)) << owner;
  EXPECT_FALSE(has(theirs, 1, "alice"));
  // Where realm and owner meet is part of the name.
  EXPECT_NE(open(kNoMemory, "a").name_of("bc", key_of(1)), open(kNoMemory, "ab").name_of("c", key_of(1)));
}

TEST_F(StoreTest, OwnersThatTrustEachOtherAreOneOfEachKind) {
  Store store(std::make_unique<FakeDirectory>(folder_), kNoMemory, {}, Store::Kind::kBuilds, Store::Owners::kTogether);
  store.keep("direct alice", key_of(1), as_bytes("content"));
  EXPECT_TRUE(has(store, 1, "direct alice"));
  EXPECT_TRUE(has(store, 1, "direct bob"));
  EXPECT_FALSE(has(store, 1, "contained alice"));
  Store apart = open();
  EXPECT_FALSE(has(apart, 1, "direct alice"));
}

TEST_F(StoreTest, CountsWhatItDoes) {
  Store store = open();
  keep(store, 1, 100);
  has(store, 1);
  has(store, 1);
  has(store, 2);
  const Store::Counts counts = store.counts();
  EXPECT_EQ(counts.entries, 1u);
  EXPECT_EQ(counts.bytes, folder_->size());
  EXPECT_EQ(counts.hits, 2u);
  EXPECT_EQ(counts.misses, 1u);
  EXPECT_EQ(open().counts().bytes, folder_->size()) << "what was there before counts";
}

TEST_F(StoreTest, WhatWasNotUsedForLongestGoes) {
  Store store = open({.directory = 10'000, .memory = 0});
  for (int i = 0; i < 9; ++i) keep(store, i, 1000);
  EXPECT_TRUE(has(store, 0));
  keep(store, 9, 1000);
  EXPECT_LE(folder_->size(), 10'000u);
  EXPECT_TRUE(has(store, 0)) << "it was used";
  EXPECT_TRUE(has(store, 9));
  EXPECT_FALSE(has(store, 1));
  EXPECT_EQ(store.counts().bytes, folder_->size());
}

TEST_F(StoreTest, IsBoundedWhateverIsKept) {
  constexpr std::uint64_t kBound = 20'000;
  Store store = open({.directory = kBound, .memory = 5'000});
  for (int i = 0; i < 500; ++i) {
    keep(store, i % 60, static_cast<std::size_t>(i * 37 % 4000));
    ASSERT_LE(folder_->size(), kBound) << i;
    ASSERT_EQ(store.counts().bytes, folder_->size()) << i;
  }
  keep(store, 1000, kBound);
  EXPECT_FALSE(has(store, 1000)) << "larger than all";
  EXPECT_GT(folder_->count(), 3u);
}

TEST_F(StoreTest, SeveralProcessesTogetherAreBoundedAbout) {
  constexpr std::uint64_t kBound = 64'000;
  Store first = open({.directory = kBound, .memory = 0}), second = open({.directory = kBound, .memory = 0});
  for (int i = 0; i < 400; ++i) keep(i % 2 == 0 ? first : second, i, 1000);
  EXPECT_LE(folder_->size(), kBound + kBound / 8);
}

TEST_F(StoreTest, WhoWritesMuchTakesNothingFromOthers) {
  Store store = open({.directory = 20'000, .memory = 0});
  for (int i = 0; i < 5; ++i) keep(store, i, 1000, "alice");
  for (int i = 0; i < 200; ++i) keep(store, i, 1000, "mallory");
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(has(store, i, "alice")) << i;
}

TEST_F(StoreTest, OfAFullDiskNothingIsStoredAndNothingIsLost) {
  Store store = open();
  keep(store, 1, 100);
  {
    MutexLock lock(folder_->mutex);
    folder_->is_full = true;
  }
  keep(store, 2, 100);
  EXPECT_TRUE(has(store, 1));
  EXPECT_FALSE(has(store, 2));
  EXPECT_EQ(store.counts().failed, 1u);
  EXPECT_EQ(store.counts().entries, 1u);
}

TEST_F(StoreTest, WhatWasUsedLastIsInMemory) {
  Store store = open({.directory = 1u << 20, .memory = 2'500});
  for (int i = 0; i < 3; ++i) keep(store, i, 1000);
  const auto reads = [this] {
    MutexLock lock(folder_->mutex);
    return folder_->reads;
  };
  EXPECT_TRUE(has(store, 1));
  EXPECT_TRUE(has(store, 2));
  EXPECT_EQ(reads(), 0u);
  EXPECT_TRUE(has(store, 0));
  EXPECT_EQ(reads(), 1u) << "there was no room for it";
  EXPECT_TRUE(has(store, 0));
  EXPECT_EQ(reads(), 1u);
}

TEST_F(StoreTest, WhatIsInMemoryIsNotForgottenOnTheDisk) {
  Store store = open({.directory = 10'000, .memory = 1'000});
  keep(store, 0, 1000);
  for (int i = 1; i < 30; ++i) {
    ASSERT_TRUE(has(store, 0));
    keep(store, i, 1000, "alice");
  }
  Store another = open({.directory = 10'000, .memory = 0});
  EXPECT_TRUE(has(another, 0));
}

TEST_F(StoreTest, EntriesThatAPowerCutHasEmptiedGo) {
  Store store = open();
  for (int i = 0; i < 9; ++i) keep(store, i, 1000);
  {
    MutexLock lock(folder_->mutex);
    int number = 0;
    for (auto& [name, file] : folder_->files) {
      if (number++ % 3 != 0) file.bytes.resize(number % 3 == 1 ? 0 : 50);
    }
  }
  EXPECT_EQ(open().counts().entries, 3u);
  EXPECT_EQ(folder_->count(), 3u);
}

TEST_F(StoreTest, LeavesFilesOfOthersAlone) {
  {
    MutexLock lock(folder_->mutex);
    folder_->files["notes.txt"] = {std::vector<std::byte>(50'000), 0};
  }
  Store store = open({.directory = 10'000, .memory = 0});
  for (int i = 0; i < 20; ++i) keep(store, i, 1000);
  MutexLock lock(folder_->mutex);
  EXPECT_TRUE(folder_->files.contains("notes.txt"));
  EXPECT_GT(folder_->files.size(), 5u);
}

}  // namespace
}  // namespace remotecl::testing
