// Clients that do not read what their kernels print.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

// A session that can print.
struct Printing {
  explicit Printing(const Address& address) : client(address), program(client.id()) {
    client.build(program, R"(
kernel void k(int lines) {
  for (int i = 0; i < lines; i++) printf("0123456789012345678901234567890123456789012345678901234567890%d\n", i & 1);
})");
    kernel = client.make_kernel(program, "k");
    queue = client.make_queue();
  }
  void print(const int& lines) {
    const KernelArgument arguments[] = {value_argument(0, lines)};
    client.enqueue(queue, kernel, 1, arguments);
    client.flush();
  }

  WireClient client;
  ObjectId program, kernel = 0, queue = 0;
};

using PrintingTest = ServerTest;

// Each of their commands prints more than is kept for them, and their turns come again and again.
TEST_F(PrintingTest, WhoDoesNotReadHoldsOthersUpForLittleTime) {
  constexpr int kMuch = 250'000, kLittle = 1;
  Printing one(address()), other(address()), reads(address());
  reads.print(kLittle);
  reads.client.finish(reads.queue);  // compiled
  for (int i = 0; i < 8; ++i) {
    one.print(kMuch);
    other.print(kMuch);
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) {
    reads.print(kLittle);
    reads.client.finish(reads.queue);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  std::size_t texts = 0;
  for (; reads.client.has<KernelOutput>(); ++texts) reads.client.wait<KernelOutput>();
  EXPECT_EQ(texts, 4u);
}

TEST_F(PrintingTest, WhoReadsLateWithoutKeepingOthersWaitingGetsAll) {
  constexpr int kLines = 250'000;
  Printing work(address());
  work.print(kLines);
  work.client.finish(work.queue);
  std::size_t size = 0;
  while (work.client.has<KernelOutput>()) size += work.client.wait<KernelOutput>()->text.size();
  EXPECT_EQ(size, std::size_t{kLines} * 63);
}

}  // namespace
}  // namespace remotecl::testing
