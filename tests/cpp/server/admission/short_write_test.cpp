// What the other side of a handshake receives if a socket takes fewer bytes than it was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fakes/wire/fault_connection.h"
#include "server/admission/handshake.h"

namespace remotecl::server {
namespace {

using testing::FaultConnection;

constexpr std::uint64_t kReceived = 0x1122334455667788;

std::vector<std::byte> welcomed_back(FaultConnection& connection) {
  const Hello hello{kMagic, kProtocolVersion, Role::kControl, kFeatureResume, 7, {}};
  welcome_back(connection, 3, hello, Return{}, kFeatureResume, kReceived);
  std::vector<std::byte> sent(connection.written());
  connection.take(sent);
  return sent;
}

const std::size_t kWhole = kWelcomeSize + kResumeAtSize;

TEST(ShortWriteTest, AnAnswerInPiecesIsTheSame) {
  FaultConnection wide, narrow({.piece_max = 5});
  const std::vector<std::byte> right = welcomed_back(wide);
  ASSERT_EQ(right.size(), kWhole);
  EXPECT_EQ(welcomed_back(narrow), right);
  EXPECT_FALSE(narrow.is_broken());
}

TEST(ShortWriteTest, NothingFollowsAnAnswerThatWasCutShort) {
  FaultConnection wide;
  const std::vector<std::byte> right = welcomed_back(wide);
  for (std::size_t room = 0; room < kWhole; ++room) {
    FaultConnection full({.room = room});
    const std::vector<std::byte> sent = welcomed_back(full);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), right.begin())) << room;
    EXPECT_TRUE(full.is_broken()) << room;
  }
}

}  // namespace
}  // namespace remotecl::server
