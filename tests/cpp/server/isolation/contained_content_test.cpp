#include "server/isolation/contained_content.h"

#include <gtest/gtest.h>

#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "store/temporary_folder.h"

namespace remotecl::testing {
namespace {

using server::ContainedContent;

class ContainedContentTest : public ::testing::Test {
 protected:
  ContainedContentTest() { store_.add_uploads(std::make_unique<Store>(open("u"), bounds_, "", Store::Kind::kUploads)); }
  std::unique_ptr<FileDirectory> open(const char* name) const {
    return std::make_unique<FileDirectory>(folder_.path() / name, FileDirectory::Sync::kNever);
  }
  static Digest digest_of(const char* text) { return sha256(as_bytes(std::string_view(text))); }

  const TemporaryFolder folder_;
  const Store::Bounds bounds_{.memory = 0};
  Store store_{open("b"), bounds_};
  ContainedContent alices_{&store_, "alice"}, bobs_{&store_, "bob"};
};

TEST_F(ContainedContentTest, ItsUsersContainedSessionsFindIt) {
  alices_.keep(digest_of("key"), as_bytes("program"));
  alices_.keep_upload(digest_of("chunk"), as_bytes("chunk"));
  ContainedContent later(&store_, "alice");
  EXPECT_TRUE(later.find(digest_of("key")).has_value());
  EXPECT_TRUE(later.open_upload(digest_of("chunk")).valid());
  EXPECT_FALSE(bobs_.find(digest_of("key")).has_value());
  EXPECT_FALSE(bobs_.open_upload(digest_of("chunk")).valid());
  EXPECT_FALSE(store_.uploads()->open("direct alice", digest_of("chunk")).valid());
}

// The process may be under an attacker's control, and later sessions take the bytes for what their client has.
TEST_F(ContainedContentTest, AChunkIsStoredUnderItsDigestOnly) {
  alices_.keep_upload(digest_of("chunk"), as_bytes("chunk"));
  alices_.keep_upload(digest_of("chunk"), as_bytes("other"));
  alices_.keep_upload(digest_of("weights"), as_bytes("wrong"));
  EXPECT_FALSE(alices_.open_upload(digest_of("weights")).valid());
  StoredContent chunk = alices_.open_upload(digest_of("chunk"));
  std::string read(5, ' ');
  ASSERT_TRUE(chunk.read(std::as_writable_bytes(std::span(read))));
  EXPECT_EQ(read, "chunk");
}

TEST_F(ContainedContentTest, WithoutAStoreThereIsNothing) {
  ContainedContent none(nullptr, "alice");
  none.keep(digest_of("key"), as_bytes("program"));
  none.keep_upload(digest_of("chunk"), as_bytes("chunk"));
  EXPECT_FALSE(none.find(digest_of("key")).has_value());
  EXPECT_FALSE(none.open_upload(digest_of("chunk")).valid());
}

}  // namespace
}  // namespace remotecl::testing
