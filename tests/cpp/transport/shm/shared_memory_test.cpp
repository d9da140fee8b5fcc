#include "runtime/transport/shm/shared_memory.h"

#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "runtime/transport/shm/shared_memory_connection.h"
#include "runtime/transport/tcp/loopback.h"

namespace remotecl {
namespace {

using namespace std::chrono_literals;

template <class T>
bool send(Connection& to, const T& value) {
  return to.write(std::as_bytes(std::span(&value, 1)));
}
template <class T>
bool receive(Connection& from, T& value) {
  return from.read_exactly(std::as_writable_bytes(std::span(&value, 1)));
}

bool is_through_memory(const Connection& connection) {
  return dynamic_cast<const SharedMemoryConnection*>(&connection) != nullptr;
}

class SharedMemoryTest : public ::testing::Test {
 protected:
  // Runs one side against what a peer, in this thread, does with its end.
  template <class Peer>
  std::unique_ptr<Connection> offer_to(Peer peer) {
    return run([](auto stream) { return shared_memory::offer(std::move(stream)); }, peer);
  }
  template <class Peer>
  std::unique_ptr<Connection> accept_from(Peer peer) {
    return run([](auto stream) { return shared_memory::accept(std::move(stream)); }, peer);
  }

  std::unique_ptr<Connection> peer_;

 private:
  template <class Side, class Peer>
  std::unique_ptr<Connection> run(Side side, Peer peer) {
    auto [near, far] = loopback::make_pair();
    peer_ = std::move(far);
    std::unique_ptr<Connection> result;
    std::thread thread([&, stream = std::move(near)]() mutable { result = side(std::move(stream)); });
    peer();
    thread.join();
    return result;
  }
};

TEST_F(SharedMemoryTest, OfferMeetsAccept) {
  const auto near = offer_to([this] { peer_ = shared_memory::accept(std::move(peer_)); });
  ASSERT_TRUE(near && peer_);
  EXPECT_TRUE(is_through_memory(*near) && is_through_memory(*peer_));
  EXPECT_TRUE(send(*near, 7));
  int got = 0;
  EXPECT_TRUE(receive(*peer_, got));
  EXPECT_EQ(got, 7);
}

TEST_F(SharedMemoryTest, APeerThatCannotSeeItLeavesTheStream) {
  const auto near = offer_to([this] {
    SharedMemoryOffer offer;
    EXPECT_TRUE(receive(*peer_, offer));
    EXPECT_TRUE(send(*peer_, std::uint64_t{0}));
  });
  ASSERT_TRUE(near);
  EXPECT_FALSE(is_through_memory(*near));
  EXPECT_TRUE(send(*near, 7));
  int got = 0;
  EXPECT_TRUE(receive(*peer_, got));
  EXPECT_EQ(got, 7);
}

TEST_F(SharedMemoryTest, AnOfferThatLeadsNowhereLeavesTheStream) {
  const auto near = accept_from([this] {
    std::uint64_t answer = 1;
    EXPECT_TRUE(send(*peer_, SharedMemoryOffer{1, 2, 3}));
    EXPECT_TRUE(receive(*peer_, answer));
    EXPECT_EQ(answer, 0u);
  });
  ASSERT_TRUE(near);
  EXPECT_FALSE(is_through_memory(*near));
  EXPECT_TRUE(send(*peer_, 7));
  int got = 0;
  EXPECT_TRUE(receive(*near, got));
  EXPECT_EQ(got, 7);
}

TEST_F(SharedMemoryTest, AWrongAnswerEndsTheConnection) {
  EXPECT_EQ(offer_to([this] {
              SharedMemoryOffer offer;
              EXPECT_TRUE(receive(*peer_, offer));
              EXPECT_TRUE(send(*peer_, offer.cookie));
            }),
            nullptr);
  std::byte got;
  EXPECT_EQ(peer_->read_some({&got, 1}), 0u);
}

TEST_F(SharedMemoryTest, APeerThatIsGone) {
  EXPECT_EQ(offer_to([this] { peer_.reset(); }), nullptr);
  EXPECT_EQ(accept_from([this] { peer_.reset(); }), nullptr);
}

TEST_F(SharedMemoryTest, APeerThatSaysNothing) {
  auto [near, far] = loopback::make_pair();
  near->set_read_timeout(20ms);
  EXPECT_EQ(shared_memory::offer(std::move(near)), nullptr);
  auto [third, fourth] = loopback::make_pair();
  third->set_read_timeout(20ms);
  EXPECT_EQ(shared_memory::accept(std::move(third)), nullptr);
}

}  // namespace
}  // namespace remotecl
