// What the other side of a handshake receives if a socket takes fewer bytes than it was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "server/admission/handshake.h"

namespace remotecl::server {
namespace {

constexpr std::uint64_t kReceived = 0x1122334455667788;

// Takes a few bytes at a time, and none after `room` bytes.
class NarrowConnection final : public Connection {
 public:
  NarrowConnection(std::size_t at_once, std::size_t room) : at_once_(at_once), room_(room) {}

  std::ptrdiff_t try_write(Bytes from) override {
    const std::size_t count = is_shut_down ? 0 : std::min({from.size(), at_once_, room_ - written.size()});
    written.insert(written.end(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(count));
    return is_shut_down ? -1 : static_cast<std::ptrdiff_t>(count);
  }
  void shutdown() override { is_shut_down = true; }

  std::size_t read_some(MutableBytes /*to*/) override { return 0; }
  std::ptrdiff_t try_read_some(MutableBytes /*to*/) override { return 0; }
  bool write(iovec* /*parts*/, int /*count*/) override { return false; }
  int wait_handle() const override { return -1; }
  void set_read_timeout(std::chrono::milliseconds /*timeout*/) override {}

  std::vector<std::byte> written;
  bool is_shut_down = false;

 private:
  const std::size_t at_once_, room_;
};

std::vector<std::byte> welcomed_back(NarrowConnection& connection) {
  const Hello hello{kMagic, kProtocolVersion, Role::kControl, kFeatureResume, 7, {}};
  welcome_back(connection, 3, hello, Return{}, kFeatureResume, kReceived);
  return connection.written;
}

const std::size_t kWhole = kWelcomeSize + kResumeAtSize;

TEST(ShortWriteTest, AnAnswerInPiecesIsTheSame) {
  NarrowConnection wide(kWhole, kWhole), narrow(5, kWhole);
  const std::vector<std::byte> right = welcomed_back(wide);
  ASSERT_EQ(right.size(), kWhole);
  EXPECT_EQ(welcomed_back(narrow), right);
  EXPECT_FALSE(narrow.is_shut_down);
}

TEST(ShortWriteTest, NothingFollowsAnAnswerThatWasCutShort) {
  NarrowConnection wide(kWhole, kWhole);
  const std::vector<std::byte> right = welcomed_back(wide);
  for (std::size_t room = 0; room < kWhole; ++room) {
    NarrowConnection full(kWhole, room);
    const std::vector<std::byte> sent = welcomed_back(full);
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), right.begin())) << room;
    EXPECT_TRUE(full.is_shut_down) << room;
  }
}

}  // namespace
}  // namespace remotecl::server
