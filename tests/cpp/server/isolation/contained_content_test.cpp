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
  ContainedContent alices_{&store_, "alice", true}, bobs_{&store_, "bob", true};
};

TEST_F(ContainedContentTest, ItsUsersContainedSessionsFindIt) {
  alices_.keep(digest_of("key"), as_bytes("program"));
  alices_.keep_upload(digest_of("chunk"), as_bytes("chunk"));
  ContainedContent later(&store_, "alice", true);
  EXPECT_TRUE(later.find(digest_of("key")).has_value());
  EXPECT_TRUE(later.open_upload(digest_of("chunk")).valid());
  EXPECT_FALSE(bobs_.find(digest_of("key")).has_value());
  EXPECT_FALSE(bobs_.open_upload(digest_of("chunk")).valid());
  EXPECT_FALSE(store_.uploads()->open("direct alice", digest_of("chunk")).valid());
}

// Those of a shared token, or without one.
TEST_F(ContainedContentTest, PeopleOfOneNameFindNothingOfEachOther) {
  const auto owned = [this](ContainedContent& content, const char* owner) {
    content.set_owner(digest_of(owner));
    return content.find(digest_of("key")).has_value() || content.open_upload(digest_of("chunk")).valid();
  };
  ContainedContent first(&store_, "default", false), again(&store_, "default", false), other(&store_, "default", false);
  EXPECT_FALSE(owned(first, "one"));
  first.keep(digest_of("key"), as_bytes("program"));
  first.keep_upload(digest_of("chunk"), as_bytes("chunk"));
  EXPECT_TRUE(owned(again, "one"));
  EXPECT_FALSE(owned(other, "other"));
  EXPECT_FALSE(owned(other, "one")) << "the first owner decides";
  const auto room_of = [this](const char* owner) { return store_.name_of(owner, digest_of("key")).substr(0, 16); };
  EXPECT_EQ(room_of("contained default\none"), room_of("contained default\nother")) << "they share a bound";
}

TEST_F(ContainedContentTest, WhoNamesNoOwnerStoresNothing) {
  ContainedContent silent(&store_, "default", false), zeros(&store_, "default", false);
  zeros.set_owner({});
  for (ContainedContent* each : {&silent, &zeros}) {
    each->keep(digest_of("key"), as_bytes("program"));
    each->keep_upload(digest_of("chunk"), as_bytes("chunk"));
    EXPECT_FALSE(each->find(digest_of("key")).has_value());
    EXPECT_FALSE(each->open_upload(digest_of("chunk")).valid());
  }
  EXPECT_EQ(store_.counts().entries, 0u);
}

TEST_F(ContainedContentTest, WhereUsersTrustEachOtherNobodyNeedsAnOwner) {
  Store trusting(open("t"), bounds_, "", Store::Kind::kBuilds, Store::Owners::kTogether);
  ContainedContent one(&trusting, "default", false), other(&trusting, "bob", true);
  one.keep(digest_of("key"), as_bytes("program"));
  EXPECT_TRUE(other.find(digest_of("key")).has_value());
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
  ContainedContent none(nullptr, "alice", true);
  none.keep(digest_of("key"), as_bytes("program"));
  none.keep_upload(digest_of("chunk"), as_bytes("chunk"));
  EXPECT_FALSE(none.find(digest_of("key")).has_value());
  EXPECT_FALSE(none.open_upload(digest_of("chunk")).valid());
}

}  // namespace
}  // namespace remotecl::testing
