// How many round trips commands take over a long line. Each bound is far from what one round trip more would take.
#include <chrono>
#include <vector>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kOneWay{100};

class LongLineTest : public ::testing::Test {
 protected:
  LongLineTest() { check(clFinish(queue_)); }

  template <class F>
  static double round_trips(F&& work) {
    const auto begin = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - begin) / (2 * kOneWay);
  }
  void write(const std::vector<int>& numbers, std::size_t at, bool blocking = false) {
    check(clEnqueueWriteBuffer(queue_, buffer_, blocking, at * sizeof(int), numbers.size() * sizeof(int),
                               numbers.data(), 0, nullptr, nullptr));
  }
  void expect(const std::vector<int>& numbers, std::size_t at) {
    EXPECT_EQ(read<int>(queue_, buffer_, numbers.size(), at * sizeof(int)), numbers);
  }

  static constexpr std::size_t kMiddle = (64 << 10) / sizeof(int) + 1;  // too much for a message

  const cl_device_id device_ = Environment::get().devices().front();
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_command_queue> queue_ = make_queue(context_, device_);
  const Owned<cl_mem> buffer_ = make_buffer(context_, 16 * kMiddle * sizeof(int));
};

TEST_F(LongLineTest, WritesOfTheMiddleSizesTakeOneRoundTripTogether) {
  std::vector<std::vector<int>> parts;
  for (int i = 0; i < 16; ++i) parts.emplace_back(kMiddle, i);
  const auto all = [&] {
    for (std::size_t i = 0; i < parts.size(); ++i) write(parts[i], i * kMiddle);
    check(clFinish(queue_));
  };
  all();  // the first time threads and memory are made
  EXPECT_LT(round_trips(all), 1.8);
  for (std::size_t i = 0; i < parts.size(); ++i) expect(parts[i], i * kMiddle);
}

TEST_F(LongLineTest, AnEventOfAWriteTakesOneRoundTrip) {
  const std::vector<int> numbers(kMiddle, 7);
  const auto one = [&] {
    Owned<cl_event> event;
    check(clEnqueueWriteBuffer(queue_, buffer_, CL_FALSE, 0, kMiddle * sizeof(int), numbers.data(), 0, nullptr,
                               event.out()));
    const cl_event waits[] = {event};
    check(clWaitForEvents(1, waits));
  };
  one();
  EXPECT_LT(round_trips(one), 1.8);
  expect(numbers, 0);
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
  ::testing::InitGoogleTest(&argc, argv);
  remotecl::testing::FaultRelay::Faults faults;
  faults.delay_max = std::chrono::microseconds(0);
  faults.line_delay = remotecl::testing::kOneWay;
  ::testing::AddGlobalTestEnvironment(remotecl::testing::Environment::with_options(1, {}, &faults));
  return RUN_ALL_TESTS();
}
