// Connections of kernels over a link: two servers' ends in one process, and peers that mean harm.
#include "extras/kernel_sockets/server/link_pipes.h"

#include <cerrno>

#include "extras/kernel_sockets/server/peer_names.h"
#include "extras/kernel_sockets/space/lane_message.h"
#include "extras/kernel_sockets/space/pipe_listener.h"
#include "fakes/wire/fault_connection.h"
#include "runtime/protocol/message_buffer.h"
#include "server/daemon/extras.h"
#include "server/peer/peer_fixture.h"

namespace remotecl::testing {
namespace {

using namespace server;

// A kernel's socket, in memory.
class Socket {
 public:
  explicit Socket(std::unique_ptr<WakingEndpoint> end) : end_(std::move(end)) {}

  // Returns how many bytes were taken.
  std::uint32_t send(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) out_[(sent_ + i) % kSize] = letter(sent_ + i);
    sent_ += count;
    EXPECT_TRUE(send_.look(sent_));
    return go_on();
  }
  // The same for what was not taken before.
  std::uint32_t go_on() {
    moved_ = end_->send(send_);
    return moved_.bytes;
  }
  std::uint32_t receive() {
    moved_ = end_->receive(receive_);
    for (std::uint32_t i = 0; i < moved_.bytes; ++i, ++received_) EXPECT_EQ(in_[received_ % kSize], letter(received_));
    EXPECT_TRUE(receive_.look(received_));
    return moved_.bytes;
  }
  void shutdown() { end_->shutdown(); }
  void close() { end_.reset(); }
  const Moved& moved() const { return moved_; }

 private:
  static constexpr std::uint32_t kSize = 1u << 20;
  static std::byte letter(std::uint32_t at) { return static_cast<std::byte>(at * 7 + (at >> 8)); }

  std::unique_ptr<WakingEndpoint> end_;
  std::vector<std::byte> out_ = std::vector<std::byte>(kSize), in_ = std::vector<std::byte>(kSize);
  SendRing send_{RingBytes(out_.data(), kSize)};
  ReceiveRing receive_{RingBytes(in_.data(), kSize)};
  std::uint32_t sent_ = 0, received_ = 0;
  Moved moved_;
};

class LinkPipesTest : public ::testing::Test {
 protected:
  struct Side {
    explicit Side(std::uint64_t host_memory)
        : used(make_ref<Counters>(MemoryQuota::counters(0))),
          counters(
              make_ref<SessionCounters>(make_ref<MemoryQuota>(0, used, MemoryLimits{.host = host_memory}, nullptr))) {}
    ~Side() {
      inbox->clear();
      outbox.stop();
      pipes->close();
    }
    std::uint64_t held() const { return counters->quota().used(counters->quota().host()); }

    Ref<Counters> used;
    Ref<SessionCounters> counters;
    FaultConnection wire;
    Outbox outbox{wire, counters};
    Ref<KernelNames> names = make_ref<KernelNames>();
    Ref<LinkPipes> pipes = make_ref<LinkPipes>(outbox, names, counters);
    Ref<Inbox> inbox = make_ref<Inbox>();
    MessageBuffer buffer;
  };

  // Carries what `from` has sent to the other side.
  void carry(Side& from) {
    LinkPipes& to = &from == &near_ ? *far_.pipes : *near_.pipes;
    while (const std::size_t count = from.wire.take(from.buffer.space())) from.buffer.commit(count);
    std::uint16_t code = 0;
    Bytes payload;
    while (from.buffer.next(code, payload) == MessageBuffer::Next::kMessage) {
      const auto is = [&](auto& message) { return message.kCode == code && Decoder(payload).read(message); };
      ConnectName connect;
      NameReply answer;
      PipeData data;
      PipeCredit credit;
      PipeEnd end;
      if (is(connect)) to.take(connect);
      if (is(answer)) to.take(answer);
      if (is(data)) to.take(data);
      if (is(credit)) to.take(credit);
      if (is(end)) to.take(end);
    }
  }
  void settle() {
    for (int i = 0; i < 8; ++i) {
      carry(near_);
      carry(far_);
    }
  }
  Ref<PipeListener> listen(const std::string& name, std::size_t backlog = 4) {
    auto listener = make_ref<PipeListener>(far_.inbox, 1, backlog);
    EXPECT_TRUE(far_.names->add(name, listener));
    return listener;
  }
  void ask(const std::string& name) {
    const auto names = make_ref<PeerNames>();
    names->linked(2, near_.pipes);
    names->connect({name, ++asked_, near_.inbox});
  }
  // What the kernel that has asked is told.
  NameFound answer() {
    Inbox::Contents contents;
    near_.inbox->take(contents);
    if (contents.messages.size() != 1) return {.socket = 0, .error = -1};
    return std::move(std::get<NameFound>(contents.messages[0].content));
  }
  struct Pair {
    Socket near, far;
  };
  Pair connect() {
    const Ref<PipeListener> listener = listen("name" + std::to_string(asked_));
    ask("name" + std::to_string(asked_));
    settle();
    NameFound found = answer();
    EXPECT_EQ(found.error, 0);
    EXPECT_EQ(found.socket, asked_);
    return {Socket(std::move(found.pipe)), Socket(listener->take())};
  }
  template <class Message>
  static std::string refusal_of(LinkPipes& pipes, const Message& message) {
    try {
      pipes.take(message);
    } catch (const ProtocolError& error) {
      return error.what();
    }
    return "";
  }

  static constexpr std::uint32_t kWindow = LinkPipe::kWindow;
  Side near_{64u << 20}, far_{64u << 20};
  std::uint64_t asked_ = 0;
};

TEST_F(LinkPipesTest, BytesGoBothWaysUntilBothHaveEnded) {
  {
    Pair pair = connect();
    EXPECT_GE(near_.held(), kWindow);
    EXPECT_EQ(pair.near.send(1000), 1000u);
    EXPECT_EQ(pair.far.send(70000), 70000u);
    settle();
    EXPECT_EQ(pair.far.receive(), 1000u);
    pair.near.shutdown();
    settle();
    EXPECT_EQ(pair.far.receive(), 0u);
    EXPECT_TRUE(pair.far.moved().has_ended);
    EXPECT_EQ(pair.far.send(5), 5u) << "the other direction goes on";
    settle();
    EXPECT_EQ(pair.near.receive(), 70005u);
    EXPECT_FALSE(pair.near.moved().has_ended);
    pair.far.shutdown();
    settle();
    pair.near.receive();
    EXPECT_TRUE(pair.near.moved().has_ended);
    EXPECT_EQ(pair.near.moved().error, 0);
    pair.far.close();
    settle();
    pair.near.close();
    settle();
  }
  EXPECT_EQ(near_.held(), 0u);
  EXPECT_EQ(far_.held(), 0u);
}

TEST_F(LinkPipesTest, WhoHasEndedSendsNoMore) {
  Pair pair = connect();
  pair.near.send(10);
  pair.near.shutdown();
  EXPECT_EQ(pair.near.send(20), 0u);
  EXPECT_EQ(pair.near.moved().error, EPIPE);
  EXPECT_NO_THROW(settle()) << "which would end the link";
  EXPECT_EQ(pair.far.receive(), 10u);
  EXPECT_TRUE(pair.far.moved().has_ended);
  EXPECT_EQ(pair.far.send(5), 5u);
  settle();
  EXPECT_EQ(pair.near.receive(), 5u);
}

TEST_F(LinkPipesTest, WhoClosesIsNotSentMore) {
  Pair pair = connect();
  pair.far.send(10);
  pair.far.close();
  pair.near.send(20);  // before it knows
  settle();
  EXPECT_EQ(pair.near.receive(), 10u);
  EXPECT_TRUE(pair.near.moved().has_ended || (pair.near.receive() == 0 && pair.near.moved().has_ended));
  pair.near.send(1);
  EXPECT_EQ(pair.near.moved().error, EPIPE);
}

TEST_F(LinkPipesTest, ASenderWaitsForRoom) {
  Pair pair = connect();
  EXPECT_EQ(pair.near.send(kWindow + 100000), kWindow);
  EXPECT_TRUE(pair.near.moved().is_blocked);
  settle();
  EXPECT_EQ(pair.near.go_on(), 0u) << "no kernel has taken anything";
  EXPECT_EQ(pair.far.receive(), kWindow);
  settle();
  EXPECT_EQ(pair.near.go_on(), 100000u);
  settle();
  EXPECT_EQ(pair.far.receive(), 100000u);
}

TEST_F(LinkPipesTest, NamesAreRefusedWithTheirReason) {
  ask("nobody");
  settle();
  EXPECT_EQ(answer().error, ECONNREFUSED);
  const Ref<PipeListener> full = listen("full", 1);
  ask("full");
  ask("full");
  settle();
  Inbox::Contents contents;
  near_.inbox->take(contents);
  ASSERT_EQ(contents.messages.size(), 2u);
  EXPECT_EQ(std::get<NameFound>(contents.messages[0].content).error, 0);
  EXPECT_EQ(std::get<NameFound>(contents.messages[1].content).error, ECONNREFUSED);
  full->close();  // as its socket does; what it holds refers to what holds it
  const auto names = make_ref<PeerNames>();
  names->add(3);
  names->connect({"anything", 7, near_.inbox});
  EXPECT_EQ(answer().error, EHOSTUNREACH) << "a server that is not linked";
  names->remove(3);
  names->connect({"anything", 8, near_.inbox});
  EXPECT_EQ(answer().error, ECONNREFUSED);
}

TEST_F(LinkPipesTest, AKernelThatIsFasterThanTheAnswerChangesNothing) {
  listen("brief")->close();  // the socket is closed as soon as it is offered, or it is not offered
  ask("brief");
  settle();
  EXPECT_EQ(answer().error, ECONNREFUSED);
  const Ref<PipeListener> listener = listen("short");
  ask("short");
  carry(near_);
  { Socket far(listener->take()); }
  settle();
  NameFound found = answer();
  ASSERT_TRUE(found.pipe);
  Socket near(std::move(found.pipe));
  near.receive();
  EXPECT_TRUE(near.moved().has_ended);
}

TEST_F(LinkPipesTest, ALostLinkEndsAllThatItCarries) {
  Pair pair = connect();
  pair.far.send(10);
  settle();
  ask("later");
  near_.pipes->close();
  EXPECT_EQ(answer().error, EHOSTUNREACH);
  EXPECT_EQ(pair.near.receive(), 10u) << "what has come stays";
  pair.near.receive();
  EXPECT_EQ(pair.near.moved().error, ECONNRESET);
  pair.near.send(1);
  EXPECT_EQ(pair.near.moved().error, ECONNRESET);
  ask("afterwards");
  EXPECT_EQ(answer().error, EHOSTUNREACH);
}

TEST_F(LinkPipesTest, ALinkThatIsNotReadSlowsItsSenders) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 16; ++i) pairs.push_back(connect());
  near_.wire.set_room(0);
  std::uint64_t taken = 0;
  for (Pair& pair : pairs) taken += pair.near.send(kWindow);
  EXPECT_LT(taken, 8u * kWindow) << "the rest stays in the kernels' rings";
  EXPECT_TRUE(pairs.back().near.moved().is_blocked);
  Inbox::Contents contents;
  near_.inbox->take(contents);
  near_.wire.set_room(FaultConnection::kUnlimited);
  // They are told, each over its own inbox, which is not attached here: so the last one just tries.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pairs.back().near.go_on() == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (Pair& pair : pairs) taken += pair.near.go_on();
  settle();
  for (Pair& pair : pairs) EXPECT_EQ(pair.far.receive(), kWindow);
}

TEST_F(LinkPipesTest, APeerCannotSendWhatWasNotAskedFor) {
  Pair pair = connect();
  LinkPipes& here = *far_.pipes;
  const std::vector<std::byte> much(kWindow), little(1);
  EXPECT_NE(refusal_of(here, PipeData{99, little}), "");
  EXPECT_NE(refusal_of(here, PipeCredit{99, 1}), "");
  EXPECT_NE(refusal_of(here, PipeEnd{99, 1}), "");
  EXPECT_NE(refusal_of(here, PipeCredit{1, 1}), "") << "nothing was sent";
  EXPECT_EQ(refusal_of(here, PipeData{1, much}), "");
  EXPECT_NE(refusal_of(here, PipeData{1, little}), "") << "more than the window";
  EXPECT_EQ(refusal_of(here, PipeEnd{1, 0}), "");
  EXPECT_NE(refusal_of(here, PipeData{1, {}}), "") << "after the end";
  EXPECT_NE(refusal_of(here, NameReply{1, 0, 1, 1}), "") << "nobody asks";
  EXPECT_NE(refusal_of(here, ConnectName{1, 1, std::string(200, 'x')}), "");
  ask("question");
  LinkPipes& asking = *near_.pipes;
  EXPECT_NE(refusal_of(asking, PipeData{2, little}), "") << "it is not connected";
  EXPECT_NE(refusal_of(asking, NameReply{2, -5, 1, 1}), "");
  EXPECT_NE(refusal_of(asking, NameReply{2, 0, 0, 1}), "");
  EXPECT_EQ(refusal_of(asking, NameReply{2, ENOENT, 0, 0}), "");
  EXPECT_EQ(answer().error, ECONNREFUSED);
}

TEST_F(LinkPipesTest, ConnectionsThatAPeerOpensAreBounded) {
  const Ref<PipeListener> listener = listen("flood", 100000);
  for (std::uint64_t i = 1; i <= 1000; ++i) far_.pipes->take(ConnectName{i, 1, "flood"});
  EXPECT_LE(far_.held(), 64u << 20);
  EXPECT_GT(far_.held(), 32u << 20);
  listener->close();
  for (std::uint64_t i = 1; i <= 1000; ++i) refusal_of(*far_.pipes, PipeEnd{i, 1});
  EXPECT_EQ(far_.held(), 0u);
}

class HostilePipesTest : public HostilePeerTest {
 protected:
  HostilePipesTest()
      : HostilePeerTest({}, [](const OwnPorts& ports) { return extras::argument_provider(true, ports); }) {}
};

TEST_F(HostilePipesTest, NamesOfNobodyAreRefused) {
  join();
  say(ConnectName{5, 1000, "nobody"});
  const auto answer = next<NameReply>();
  EXPECT_EQ(answer->pipe, 5u);
  EXPECT_EQ(answer->error, ENOENT);
}

TEST_F(HostilePipesTest, DataOfNoConnectionEndsTheLink) {
  join();
  say(PipeData{7, Bytes(std::vector<std::byte>(64))});
  expect_only_link_ends("connection 7 of kernels");
}

TEST_F(HostilePipesTest, AnAnswerThatNobodyAskedForEndsTheLink) {
  join();
  say(NameReply{1, 0, 1, 1});
  expect_only_link_ends("has not asked");
}

}  // namespace
}  // namespace remotecl::testing
