// A kernel that stores a program of its own under the key of somebody else's. This program stands between the daemon
// and the processes of its sessions, to learn keys and contents, which an attacker can compute.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>

#include "server/isolation/session_channel.h"
#include "server/program/restart_fixture.h"

namespace {

using remotecl::Digest;
using remotecl::server::PacketType;

struct Seen {
  remotecl::Mutex mutex;
  std::vector<Digest> wanted GUARDED_BY(mutex);                         // keys of kFind
  std::map<Digest, std::vector<std::byte>> contents GUARDED_BY(mutex);  // of kKeep
};
Seen g_seen;

std::vector<std::byte> content_of(const msghdr& message) {
  const cmsghdr* const control = CMSG_FIRSTHDR(&message);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return {};
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return {};
  std::vector<std::byte> content(static_cast<std::size_t>(status.st_size));
  return ::pread(descriptor, content.data(), content.size(), 0) == status.st_size ? content : std::vector<std::byte>();
}

void look_at(const msghdr& message, std::size_t size) {
  std::vector<std::byte> packet;
  for (std::size_t i = 0; i < message.msg_iovlen; ++i) {
    const auto* const part = static_cast<const std::byte*>(message.msg_iov[i].iov_base);
    packet.insert(packet.end(), part, part + message.msg_iov[i].iov_len);
  }
  packet.resize(size);
  PacketType type{};
  if (size < sizeof type) return;
  std::memcpy(&type, packet.data(), sizeof type);
  remotecl::Decoder decoder(remotecl::Bytes(packet).subspan(sizeof type));
  remotecl::server::StoreMessage named{};
  if ((type != PacketType::kFind && type != PacketType::kKeep) || !decoder.read(named)) return;
  remotecl::MutexLock lock(g_seen.mutex);
  if (type == PacketType::kFind) g_seen.wanted.push_back(named.key);
  if (type == PacketType::kKeep) g_seen.contents[named.key] = content_of(message);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
  static auto* const call = reinterpret_cast<decltype(&recvmsg)>(::dlsym(RTLD_NEXT, "recvmsg"));
  const ssize_t size = call(socket, message, flags);
  if (size > 0) look_at(*message, static_cast<std::size_t>(size));
  return size;
}
#pragma GCC visibility pop

namespace remotecl::testing {
namespace {

// Makes sealed memory with `content`, and sends it behind `packet` to the daemon, over descriptor 3.
constexpr char kStores[] = R"(
long call(long n, long a, long b, long c, long d, long e, long f) {
  long result;
  __asm__ volatile("movq %5, %%r10; movq %6, %%r8; movq %7, %%r9; syscall"
                   : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "m"(d), "m"(e), "m"(f)
                   : "rcx", "r8", "r9", "r10", "r11", "memory");
  return result;
}
kernel void store(global char* content, global char* packet, global long* results, int size, int packet_size) {
  char name[2] = {'x', 0};
  long memory = call(319, (long)name, 11, 0, 0, 0, 0);  // memfd_create, with seals, and never a program
  if (memory < 0) memory = call(319, (long)name, 3, 0, 0, 0, 0);  // Linux before 6.3
  results[0] = memory;
  results[1] = call(1, memory, (long)content, size, 0, 0, 0);  // write
  results[2] = call(72, memory, 1033, 7, 0, 0, 0);  // fcntl: F_ADD_SEALS
  long part[2] = {(long)packet, packet_size};
  long rights[3] = {20, 1L << 32 | 1, memory};  // a cmsghdr with SCM_RIGHTS
  long message[7] = {0, 0, (long)part, 1, (long)rights, 24, 0};
  results[3] = call(46, 3, (long)message, 0x4000, 0, 0, 0);  // sendmsg
})";
constexpr char kRight[] = "kernel void f(global int* x) { x[0] = 1; }";
constexpr char kWrong[] = "kernel void f(global int* x) { x[0] = 666; }";

class PoisonedStoreTest : public RestartFixture {
 protected:
  PoisonedStoreTest() : RestartFixture(isolation_with_store()) {}

  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "the kernel makes system calls of x86-64";
#endif
    if (!server_->driver().devices()[0]->traits().is_processor) GTEST_SKIP() << "no CPU device";
  }
  // What the program computes in a session of this client.
  int result_of(const char* source, const Digest& owner) {
    WireClient client(server_->address());
    client.introduce(owner);
    const ObjectId program = client.id(), queue = client.make_queue(), buffer = client.make_buffer(4);
    client.build(program, source);
    client.write<int>(queue, buffer, std::vector<int>{0});
    const KernelArgument arguments[] = {memory_argument(0, buffer)};
    client.enqueue(queue, client.make_kernel(program, "f"), 1, arguments);
    return client.read<int>(queue, buffer, 1)[0];
  }
  // The key under which the program is looked for, and the entry of it that is stored.
  std::pair<Digest, std::vector<std::byte>> learn(const char* source, const Digest& owner) {
    result_of(source, owner);
    Digest key{};
    std::vector<std::byte> content;
    EXPECT_TRUE(ServerTest::eventually([&] {
      MutexLock lock(g_seen.mutex);
      key = g_seen.wanted.back();  // before that, the session looks for what the driver has cached
      content = g_seen.contents[key];
      return !content.empty();
    }));
    return {key, content};
  }
  // A kernel stores `content` under `key`.
  void poison(const Digest& key, const std::vector<std::byte>& content, const Digest& owner) {
    WireClient client(server_->address());
    client.introduce(owner);
    const ObjectId program = client.id(), queue = client.make_queue();
    client.build(program, kStores);
    std::vector<std::byte> packet(sizeof(PacketType) + wire::encoded_size(server::StoreMessage{1u << 30, key}));
    std::byte* at = packet.data();
    wire::put_field(at, PacketType::kKeep);
    wire::encode(at, server::StoreMessage{1u << 30, key});
    const auto buffer_with = [&](Bytes bytes) {
      const ObjectId buffer = client.make_buffer(bytes.size());
      client.write<std::byte>(queue, buffer, std::vector<std::byte>(bytes.begin(), bytes.end()));
      return buffer;
    };
    const std::vector<long> none(4);
    const ObjectId results = buffer_with(std::as_bytes(std::span(none)));
    const int size = static_cast<int>(content.size()), packet_size = static_cast<int>(packet.size());
    const KernelArgument arguments[] = {memory_argument(0, buffer_with(content)),
                                        memory_argument(1, buffer_with(packet)), memory_argument(2, results),
                                        value_argument(3, size), value_argument(4, packet_size)};
    client.enqueue(queue, client.make_kernel(program, "store"), 1, arguments);
    const std::vector<long> made = client.read<long>(queue, results, 4);
    EXPECT_EQ(made[1], size);
    EXPECT_EQ(made[2], 0);
    EXPECT_EQ(made[3], packet_size) << "the daemon has the packet";
  }

  const Digest victim_ = sha256(as_bytes(std::string_view("the victim's"))),
               attacker_ = sha256(as_bytes(std::string_view("the attacker's")));
};

// Both know the server's only token.
TEST_F(PoisonedStoreTest, AKernelStoresNothingThatAnotherClientOfATokenFinds) {
  const auto [wrong, content] = learn(kWrong, attacker_);
  const auto [right, unused] = learn(kRight, attacker_);
  ASSERT_NE(wrong, right);
  ASSERT_FALSE(content.empty());
  const std::uint64_t stored = store_->counts().entries;
  poison(right, content, attacker_);
  ASSERT_TRUE(has_stored(stored + 1)) << "the session has ended, and what it made has been stored";
  const std::uint64_t hits = store_->counts().hits;
  EXPECT_EQ(result_of(kRight, victim_), 1);
  EXPECT_EQ(store_->counts().hits, hits);
  EXPECT_EQ(result_of(kRight, attacker_), 666) << "the attack would have worked";
}

}  // namespace
}  // namespace remotecl::testing
