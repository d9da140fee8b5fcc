// Rectangles whose host pitch differs from their region, byte by byte against a model.
#include <random>

#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

using Bytes = std::vector<unsigned char>;

struct Box {
  std::size_t origin[3], row, slice;  // pitches as given to OpenCL, 0: packed
  std::size_t at(const std::size_t (&region)[3], std::size_t x, std::size_t y, std::size_t z) const {
    const std::size_t row_pitch = row == 0 ? region[0] : row;
    const std::size_t slice_pitch = slice == 0 ? region[1] * row_pitch : slice;
    return (origin[2] + z) * slice_pitch + (origin[1] + y) * row_pitch + origin[0] + x;
  }
};

void model_copy(const Bytes& from, const Box& source, Bytes& to, const Box& target, const std::size_t (&region)[3]) {
  for (std::size_t z = 0; z < region[2]; ++z) {
    for (std::size_t y = 0; y < region[1]; ++y) {
      for (std::size_t x = 0; x < region[0]; ++x) to[target.at(region, x, y, z)] = from[source.at(region, x, y, z)];
    }
  }
}

class RectTest : public RemoteTest {
 protected:
  static constexpr std::size_t kSize = 1u << 19;

  std::mt19937 random_{20};
  std::size_t pick(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(random_);
  }
  // Fits into kSize for every region below.
  Box pick_box(const std::size_t (&region)[3]) {
    Box box{{pick(0, 9), pick(0, 5), pick(0, 2)}, 0, 0};
    if (pick(0, 3) == 0) return {{0, 0, pick(0, 2)}, 0, 0};
    box.row = region[0] + box.origin[0] + pick(0, 20);
    if (pick(0, 2) != 0) box.slice = box.row * (region[1] + box.origin[1] + pick(0, 4));
    return box;
  }
  Bytes noise() {
    Bytes bytes(kSize);
    for (auto& byte : bytes) byte = static_cast<unsigned char>(random_());
    return bytes;
  }
};

TEST_F(RectTest, ReadsAndWritesWithAnyPitchMatchAModel) {
  Bytes model = noise();
  const Owned<cl_mem> buffer = make_buffer(context_, model);
  for (int round = 0; round < 120; ++round) {
    // Every third one is too big to travel with its command.
    const bool big = round % 3 == 0;
    const std::size_t region[3] = {big ? pick(200, 300) : pick(1, 40), big ? pick(100, 150) : pick(1, 20), pick(1, 5)};
    const Box device = pick_box(region), memory = pick_box(region);
    const cl_command_queue queue = round % 2 == 0 ? queue_ : other_;
    const cl_bool blocking = pick(0, 1) != 0 ? CL_TRUE : CL_FALSE;
    if (pick(0, 1) == 0) {
      const Bytes host = noise();
      model_copy(host, memory, model, device, region);
      ASSERT_EQ(clEnqueueWriteBufferRect(queue, buffer, blocking, device.origin, memory.origin, region, device.row,
                                         device.slice, memory.row, memory.slice, host.data(), 0, nullptr, nullptr),
                CL_SUCCESS);
      check(clFinish(queue));
    } else {
      Bytes host(kSize, 0xcd), expected(kSize, 0xcd);
      model_copy(model, device, expected, memory, region);
      ASSERT_EQ(clEnqueueReadBufferRect(queue, buffer, blocking, device.origin, memory.origin, region, device.row,
                                        device.slice, memory.row, memory.slice, host.data(), 0, nullptr, nullptr),
                CL_SUCCESS);
      check(clFinish(queue));
      ASSERT_TRUE(host == expected) << "read in round " << round;
    }
  }
  EXPECT_TRUE(read<unsigned char>(queue_, buffer, kSize) == model);
}

// Rectangles that pass through the client's memory in several pieces, many of them at a time and in no order.
TEST_F(RectTest, LargeOnesMoveAtTheSameTime) {
  constexpr std::size_t kCount = 6;
  const Owned<cl_command_queue> queue = make_queue(context_, device(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  const Owned<cl_event> begin = make_user_event(context_);
  std::vector<Owned<cl_mem>> buffers;
  std::vector<Bytes> hosts, backs, expected;
  std::vector<Owned<cl_event>> written(kCount), read(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    // Up to 18 MiB.
    const std::size_t region[3] = {pick(3000, 5000), pick(500, 900), pick(2, 4)}, origin[3] = {0, 0, 0};
    const std::size_t row = region[0] + pick(0, 40), slice = row * (region[1] + pick(0, 3));
    Bytes host(slice * region[2]);
    for (std::size_t at = 0; at < host.size(); at += 1 + at % 7) host[at] = static_cast<unsigned char>(random_());
    hosts.push_back(std::move(host));
    buffers.push_back(make_buffer(context_, slice * region[2]));
    backs.emplace_back(slice * region[2], 0xcd);
    expected.push_back(backs.back());
    const Box packed{{0, 0, 0}, 0, 0}, strided{{0, 0, 0}, row, slice};
    const cl_event first = begin;
    ASSERT_EQ(clEnqueueWriteBufferRect(queue, buffers[i], CL_FALSE, origin, origin, region, 0, 0, row, slice,
                                       hosts[i].data(), 1, &first, written[i].out()),
              CL_SUCCESS);
    const cl_event second = written[i];
    ASSERT_EQ(clEnqueueReadBufferRect(queue, buffers[i], CL_FALSE, origin, origin, region, 0, 0, row, slice,
                                      backs[i].data(), 1, &second, read[i].out()),
              CL_SUCCESS);
    Bytes between(region[0] * region[1] * region[2]);
    model_copy(hosts[i], strided, between, packed, region);
    model_copy(between, packed, expected[i], strided, region);
  }
  check(clSetUserEventStatus(begin, CL_COMPLETE));
  for (std::size_t i = kCount; i-- > 0;) {
    const cl_event last = read[i];
    check(clWaitForEvents(1, &last));
    EXPECT_TRUE(backs[i] == expected[i]) << i;
  }
  check(clFinish(queue));
}

// Events in the wait list decide what is written: the bytes that are there when they have ended.
TEST_F(RectTest, AWriteThatWaitsForAReadSendsWhatHasBeenRead) {
  const std::size_t region[3] = {3000, 1000, 1}, origin[3] = {0, 0, 0}, row = 3072;
  const Bytes content = noise();
  Bytes source(region[0] * region[1]), host(row * region[1]);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = content[i % content.size()];
  const Owned<cl_mem> from = make_buffer(context_, source), to = make_buffer(context_, source.size());
  Owned<cl_event> read;
  check(clEnqueueReadBufferRect(queue_, from, CL_FALSE, origin, origin, region, 0, 0, row, 0, host.data(), 0, nullptr,
                                read.out()));
  const cl_event done = read;
  check(clEnqueueWriteBufferRect(other_, to, CL_FALSE, origin, origin, region, 0, 0, row, 0, host.data(), 1, &done,
                                 nullptr));
  check(clFinish(other_));
  EXPECT_TRUE(testing::read<unsigned char>(other_, to, source.size()) == source);
}

TEST_F(RectTest, AFailedEventInTheWaitListFailsALargeOne) {
  const std::size_t region[3] = {3000, 1000, 3}, origin[3] = {0, 0, 0}, row = 3072;
  Bytes host(row * region[1] * region[2], 0x11);
  const Bytes before = host;
  const Owned<cl_mem> buffer = make_buffer(context_, host.size());
  const Owned<cl_event> failed = make_user_event(context_);
  const cl_event first = failed;
  Owned<cl_event> written, read;
  check(clEnqueueWriteBufferRect(queue_, buffer, CL_FALSE, origin, origin, region, 0, 0, row, 0, host.data(), 1, &first,
                                 written.out()));
  check(clEnqueueReadBufferRect(other_, buffer, CL_FALSE, origin, origin, region, 0, 0, row, 0, host.data(), 1, &first,
                                read.out()));
  check(clSetUserEventStatus(failed, -77));
  for (const cl_event each : {static_cast<cl_event>(written), static_cast<cl_event>(read)}) {
    EXPECT_EQ(clWaitForEvents(1, &each), CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  }
  EXPECT_TRUE(host == before);
}

TEST_F(RectTest, CopiesMatchAModel) {
  Bytes from_model = noise(), to_model = noise();
  const Owned<cl_mem> from = make_buffer(context_, from_model);
  const Owned<cl_mem> to = make_buffer(context_, to_model);
  for (int round = 0; round < 40; ++round) {
    const std::size_t region[3] = {pick(1, 200), pick(1, 60), pick(1, 5)};
    const Box source = pick_box(region), target = pick_box(region);
    model_copy(from_model, source, to_model, target, region);
    const cl_command_queue queue = round % 2 == 0 ? queue_ : other_;
    ASSERT_EQ(clEnqueueCopyBufferRect(queue, from, to, source.origin, target.origin, region, source.row, source.slice,
                                      target.row, target.slice, 0, nullptr, nullptr),
              CL_SUCCESS);
    check(clFinish(queue));
  }
  EXPECT_TRUE(read<unsigned char>(other_, to, kSize) == to_model);
}

TEST_F(RectTest, SubBufferRectanglesStayInside) {
  Bytes model = noise();
  const Owned<cl_mem> buffer = make_buffer(context_, model);
  const Owned<cl_mem> part = make_sub_buffer(buffer, 4096, 8192);
  const Bytes host = noise();
  const std::size_t device_origin[3] = {3, 2, 1}, host_origin[3] = {1, 1, 0}, region[3] = {10, 5, 3};
  check(clEnqueueWriteBufferRect(other_, part, CL_TRUE, device_origin, host_origin, region, 16, 160, 24, 240,
                                 host.data(), 0, nullptr, nullptr));
  const Box device{{3, 2, 1}, 16, 160}, memory{{1, 1, 0}, 24, 240};
  Bytes inside(model.begin() + 4096, model.begin() + 4096 + 8192);
  model_copy(host, memory, inside, device, region);
  std::copy(inside.begin(), inside.end(), model.begin() + 4096);
  check(clFinish(other_));
  EXPECT_TRUE(read<unsigned char>(queue_, buffer, kSize) == model);
}

}  // namespace
}  // namespace remotecl::testing
