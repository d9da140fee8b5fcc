#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "store/fake_directory.h"
#include "store/small_store.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {
namespace fs = std::filesystem;

constexpr int kKeys = 6;

// The only right content of a key. Some are empty, and some differ in their last byte only.
std::vector<std::byte> content_of(const std::string& owner, int number) {
  std::vector<std::byte> content(static_cast<std::size_t>(number) * 977 % 3000, std::byte{7});
  if (!content.empty()) content.back() = std::byte(owner.size() * 16 + static_cast<std::size_t>(number));
  return content;
}

// What power cuts, bugs, other programs and other people do to entries. A seed is a case.
class Damage {
 public:
  Damage(std::shared_ptr<FakeFolder> folder, unsigned seed) : folder_(std::move(folder)), random_(seed) {}

  void do_some() {
    MutexLock lock(folder_->mutex);
    for (int i = below(4); i >= 0; --i) do_one();
  }
  int below(std::size_t bound) { return static_cast<int>(random_() % bound); }

 private:
  FakeFolder::File& any() REQUIRES(folder_->mutex) {
    auto at = folder_->files.begin();
    std::advance(at, below(folder_->files.size()));
    return at->second;
  }
  std::size_t random_index(const std::vector<std::byte>& bytes) {
    return static_cast<std::size_t>(below(bytes.size()));
  }
  void do_one() REQUIRES(folder_->mutex) {
    if (folder_->files.empty()) return;
    std::vector<std::byte>& bytes = any().bytes;
    const int kind = below(10);
    if (kind == 0 && !bytes.empty()) bytes[random_index(bytes)] ^= std::byte(1 << below(8));
    if (kind == 1 && !bytes.empty()) bytes.resize(random_index(bytes));
    if (kind == 2) bytes.resize(bytes.size() + 1 + static_cast<std::size_t>(below(200)));
    if (kind == 3) bytes = std::vector<std::byte>(any().bytes);  // another entry under this name
    if (kind == 4) std::swap(bytes, any().bytes);
    if (kind == 5) bytes.clear();
    if (kind == 6) std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2), bytes.end(), std::byte{});
    if (kind == 7) {  // two halves, as two writers of one file would leave
      const auto other = any().bytes;
      const std::size_t half = std::min(bytes.size(), other.size()) / 2;
      std::copy_n(other.begin(), half, bytes.begin());
    }
    if (kind == 8 && !bytes.empty()) bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(random_index(bytes)));
    if (kind == 9) {
      for (std::byte& byte : bytes) byte = std::byte(below(256));
    }
  }

  const std::shared_ptr<FakeFolder> folder_;
  std::mt19937 random_;
};

// Gives how many contents there were.
int expect_right_or_absent(Store& store, const std::string& what) {
  int found = 0;
  for (const std::string& owner : kOwners) {
    for (int number = 0; number < kKeys; ++number) {
      const auto content = store.find(owner, key_of(number));
      found += content.has_value();
      if (!content) continue;
      EXPECT_EQ(*content, content_of(owner, number)) << what << " " << owner << " " << number;
    }
  }
  return found;
}

void keep_all(Store& store) {
  for (const std::string& owner : kOwners) {
    for (int number = 0; number < kKeys; ++number) store.keep(owner, key_of(number), content_of(owner, number));
  }
}

TEST(StoreDamageTest, IsNeverGivenOut) {
  int found = 0, removed = 0;
  for (unsigned seed = 0; seed < kCases; ++seed) {
    const auto folder = std::make_shared<FakeFolder>();
    Store writer(std::make_unique<FakeDirectory>(folder), kNoMemory);
    keep_all(writer);
    Damage(folder, seed).do_some();
    Store reader(std::make_unique<FakeDirectory>(folder), kNoMemory);
    const int now = expect_right_or_absent(reader, "seed " + std::to_string(seed));
    found += now;
    removed += static_cast<int>(reader.counts().damaged);
    ASSERT_EQ(folder->count(), static_cast<std::size_t>(now)) << "damaged ones are removed, seed " << seed;
    keep_all(reader);
    ASSERT_EQ(expect_right_or_absent(writer, "again"), 2 * kKeys) << "and written anew, seed " << seed;
    if (HasFailure()) return;
  }
  EXPECT_GT(found, kCases * kKeys);
  EXPECT_GT(removed, kCases / 2);
}

TEST(StoreDamageTest, NorOfFiles) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "store";
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    Store writer(std::make_unique<FileDirectory>(folder), kNoMemory);
    keep_all(writer);
    const fs::path other = temporary.path() / "other";
    fs::copy_file(*fs::directory_iterator(folder), other, fs::copy_options::overwrite_existing);
    for (const auto& each : fs::directory_iterator(folder)) {
      const auto size = fs::file_size(each);
      switch (random() % 4) {
        case 0:
          fs::resize_file(each, random() % (size + 1));
          break;
        case 1: {
          std::fstream file(each.path(), std::ios::binary | std::ios::in | std::ios::out);
          file.seekp(static_cast<std::streamoff>(random() % size));
          file.put(static_cast<char>(random()));
          break;
        }
        case 2:
          fs::copy_file(other, each, fs::copy_options::overwrite_existing);
          break;
        default:
          break;
      }
    }
    Store reader(std::make_unique<FileDirectory>(folder), kNoMemory);
    expect_right_or_absent(reader, "round " + std::to_string(round));
    if (HasFailure()) return;
  }
}

// Several stores of one folder, as in several processes, write, read, evict and are damaged at the same time.
TEST(StoreDamageTest, NorWhereSeveralRace) {
  const auto folder = std::make_shared<FakeFolder>();
  std::atomic<int> found{0};
  std::vector<std::thread> threads;
  for (unsigned each = 0; each < 4; ++each) {
    threads.emplace_back([&, each] {
      // No room for all: each evicts what the others have.
      Store store(std::make_unique<FakeDirectory>(folder), {.directory = 12'000, .memory = each * 1000});
      Damage damage(folder, each);
      for (int i = 0; i < 400; ++i) {
        const std::string& owner = kOwners[damage.below(2)];
        const int number = damage.below(kKeys);
        store.keep(owner, key_of(number), content_of(owner, number));
        if (i % 5 == 0) damage.do_some();
        found += expect_right_or_absent(store, "store " + std::to_string(each));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace remotecl::testing
