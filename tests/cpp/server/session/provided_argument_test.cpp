// Arguments of kernels that are no buffers, as a double provides them, and a server that has none.
#include <cerrno>

#include "fakes/arguments/fake_argument_provider.h"
#include "fakes/wire/fault_connection.h"
#include "runtime/protocol/message_buffer.h"
#include "server/fixture.h"
#include "server/util/protocol_error.h"

namespace remotecl::testing {
namespace {

constexpr const char* kSource = "kernel void add(global int* data, int value) { data[0] += value; }";

struct Log {
  ArgumentLog log;  // outlives the server
};

class ProvidedArgumentTest : private Log, public ServerTest {
 protected:
  ProvidedArgumentTest()
      : ServerTest({}, nullptr,
                   [this](const server::OwnPorts&) { return std::make_unique<FakeArgumentProvider>(log); }) {}
  using Log::log;

  static ObjectId make(WireClient& client) {
    const ObjectId id = client.id();
    client.send(CreateNetwork{id, client.id(), 0, 4, 4096});
    const auto created = client.wait<NetworkCreated>();
    EXPECT_EQ(created->error, CL_SUCCESS) << created->text;
    EXPECT_EQ(created->size, 4u * 4096);
    return id;
  }
  static ObjectId make_kernel(WireClient& client) {
    const ObjectId program = client.id();
    client.build(program, kSource);
    return client.make_kernel(program, "add");
  }
  static void run(WireClient& client, ObjectId queue, ObjectId kernel, ObjectId argument) {
    const int value = 1;
    const KernelArgument arguments[] = {memory_argument(0, argument), value_argument(1, value)};
    client.enqueue(queue, kernel, 1, arguments);
  }
};

TEST_F(ProvidedArgumentTest, EachCommandThatUsesItBeginsAndEnds) {
  WireClient client(address());
  const ObjectId queue = client.make_queue(), kernel = make_kernel(client), buffer = client.make_buffer(64);
  const ObjectId argument = make(client);
  for (int i = 0; i < 3; ++i) run(client, queue, kernel, argument);
  run(client, queue, kernel, buffer);
  client.finish(queue);
  EXPECT_EQ(log.begun, 3);
  EXPECT_TRUE(eventually([this] { return log.ended == 3; }));
  EXPECT_EQ(log.stopped, 0);
}

TEST_F(ProvidedArgumentTest, ACommandKeepsWhatTheClientReleases) {
  WireClient client(address());
  const ObjectId queue = client.make_queue(), kernel = make_kernel(client), argument = make(client);
  run(client, queue, kernel, argument);
  client.send(ReleaseBuffer{argument});
  client.finish(queue);
  client.send(ReleaseKernel{kernel});
  EXPECT_TRUE(eventually([this] { return log.ended == 1; }));
  EXPECT_TRUE(eventually([this] { return log.destroyed == 1; }));
}

TEST_F(ProvidedArgumentTest, OtherCommandsDoNotFindIt) {
  WireClient client(address());
  const ObjectId queue = client.make_queue(), argument = make(client);
  const EventId event = client.id();
  const int value = 1;
  client.write<int>(queue, argument, std::span(&value, 1), event);
  client.flush();
  EXPECT_EQ(client.wait<CommandFailed>()->status, CL_INVALID_MEM_OBJECT);
}

TEST_F(ProvidedArgumentTest, ItStopsWhenTheClientAsksAndWhenTheSessionEnds) {
  {
    WireClient client(address());
    const ObjectId argument = make(client);
    client.send(StopNetwork{argument});
    client.ping();
    EXPECT_EQ(log.stopped, 1);
    client.send(StopNetwork{argument + 100});  // unknown ones are ignored
    client.ping();
  }
  EXPECT_TRUE(eventually([this] { return log.stopped >= 2 && log.destroyed == 1; }));
}

TEST_F(ProvidedArgumentTest, RefusalsHaveTheirReason) {
  WireClient client(address());
  client.send(CreateNetwork{client.id(), client.id(), 0, 0, 4096});
  const auto none = client.wait<NetworkCreated>();
  EXPECT_EQ(none->error, CL_INVALID_VALUE);
  EXPECT_EQ(none->text, "no sockets");
  for (int i = 0; i < 64; ++i) make(client);
  client.send(CreateNetwork{client.id(), client.id(), 0, 4, 4096});
  EXPECT_EQ(client.wait<NetworkCreated>()->error, CL_OUT_OF_RESOURCES);
}

TEST_F(ProvidedArgumentTest, ProgramsMayIncludeItsHeader) {
  WireClient client(address());
  const auto done =
      client.build(client.id(), "#include \"fake/seven.cl\"\nkernel void f(global int* a) { *a = seven(); }");
  done->builds.for_each([](const DeviceBuild& build) { EXPECT_EQ(build.error, 0) << build.log; });
}

using NoArgumentsTest = ServerTest;

TEST_F(NoArgumentsTest, AServerWithoutAProviderSaysWhatToDo) {
  WireClient client(address());
  client.send(CreateNetwork{client.id(), client.id(), 0, 4, 4096});
  const auto created = client.wait<NetworkCreated>();
  EXPECT_EQ(created->error, CL_INVALID_OPERATION);
  EXPECT_NE(std::string(created->text).find("--kernel-sockets"), std::string::npos) << created->text;
}

TEST(NoLinkArgumentsTest, APeersKernelsFindNoNames) {
  using namespace server;
  const auto counters = make_ref<SessionCounters>(
      make_ref<MemoryQuota>(0, make_ref<Counters>(MemoryQuota::counters(0)), MemoryLimits{}, nullptr));
  FaultConnection wire;
  Outbox outbox(wire, counters);
  const Ref<LinkArguments> link = make_ref<SessionArguments>()->link(outbox);
  link->take(ConnectName{7, 1000, "name"});
  EXPECT_THROW(link->take(PipeEnd{7, 1}), ProtocolError);
  MessageBuffer buffer;
  buffer.commit(wire.take(buffer.space()));
  std::uint16_t code = 0;
  Bytes payload;
  ASSERT_EQ(buffer.next(code, payload), MessageBuffer::Next::kMessage);
  NameReply reply;
  ASSERT_EQ(code, NameReply::kCode);
  ASSERT_TRUE(Decoder(payload).read(reply));
  EXPECT_EQ(reply.pipe, 7u);
  EXPECT_EQ(reply.error, ENOENT);
  outbox.stop();
}

}  // namespace
}  // namespace remotecl::testing
