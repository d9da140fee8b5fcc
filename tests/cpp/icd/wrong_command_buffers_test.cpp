// cl_khr_command_buffer and cl_pocl_content_size: calls that go wrong. No driver to compare with has them.
#include "icd/command_buffers.h"
#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

// What the calls below need besides World.
struct Extra {
  World& w = World::remote();
  const CommandBufferApi& api = CommandBufferApi::get();
  Owned<cl_command_queue> second = make_queue(w.context, w.device);  // will be held up for good
  Owned<cl_command_queue> profiling = make_queue(w.context, w.device, CL_QUEUE_PROFILING_ENABLE);
  Owned<cl_command_queue> foreign = make_queue(w.foreign_context, w.device);
  Owned<cl_program> foreign_program = build(w.foreign_context, kSource);
  Owned<cl_kernel> foreign_kernel = make_kernel(foreign_program, "add");
  Owned<cl_mem> small = make_buffer(w.context, 4);
  Recorded recording{w.queue}, finalized{w.queue}, pending{second};

  Extra() {
    recording.barrier();  // sync point 1
    finalized.finalize();
    pending.finalize();
    check(pending.replay({w.gate}));
  }
  static Extra& get() {
    static Extra& extra = *new Extra;
    return extra;
  }
};

struct WrongExtensionCall {
  const char* name;
  cl_int expected;
  cl_int (*call)(World& w, Extra& x, const CommandBufferApi& api);
};
void PrintTo(const WrongExtensionCall& row, std::ostream* out) { *out << row.name; }

class WrongExtensionCallTest : public ::testing::TestWithParam<WrongExtensionCall> {};
TEST_P(WrongExtensionCallTest, GivesTheSpecifiedError) {
  Extra& extra = Extra::get();
  EXPECT_EQ(GetParam().call(extra.w, extra, extra.api), GetParam().expected);
}
std::string name_of(const ::testing::TestParamInfo<WrongExtensionCall>& info) { return info.param.name; }

#define CALL(expression) \
  [](World& w, Extra& x, const CommandBufferApi& api) -> cl_int { return (void)w, (void)x, (void)api, expression; }
#define CREATE(expression) CALL(error_of([&](cl_int* error) { return expression; }))

cl_command_buffer_khr create(const CommandBufferApi& api, cl_command_queue queue,
                             const std::vector<cl_command_buffer_properties_khr>& properties, cl_int* error) {
  return api.create(1, &queue, properties.data(), error);
}
const WrongExtensionCall kCreates[] = {
    {"CreateWithoutQueue", CL_INVALID_VALUE, CREATE(api.create(0, w.queue.pointer(), nullptr, error))},
    {"CreateWithTwoQueues", CL_INVALID_VALUE, CREATE(api.create(2, w.queue.pointer(), nullptr, error))},
    {"CreateWithNullQueues", CL_INVALID_VALUE, CREATE(api.create(1, nullptr, nullptr, error))},
    {"CreateWithNullQueue", CL_INVALID_COMMAND_QUEUE, CREATE(create(api, nullptr, {0}, error))},
    {"CreateUnknownProperty", CL_INVALID_VALUE, CREATE(create(api, w.queue, {0x4321, 0, 0}, error))},
    {"CreatePropertyTwice", CL_INVALID_VALUE,
     CREATE(create(api, w.queue, {CL_COMMAND_BUFFER_FLAGS_KHR, 0, CL_COMMAND_BUFFER_FLAGS_KHR, 0, 0}, error))},
    {"CreateUnknownFlag", CL_INVALID_VALUE,
     CREATE(create(api, w.queue, {CL_COMMAND_BUFFER_FLAGS_KHR, 1u << 20, 0}, error))},
};

cl_int info(const CommandBufferApi& api, cl_command_buffer_khr commands, cl_uint name, std::size_t size) {
  std::vector<char> value(64);
  return api.info(commands, name, size, value.data(), nullptr);
}
const WrongExtensionCall kLives[] = {
    {"RetainNull", CL_INVALID_COMMAND_BUFFER_KHR, CALL(api.retain(nullptr))},
    {"ReleaseNull", CL_INVALID_COMMAND_BUFFER_KHR, CALL(api.release(nullptr))},
    {"RetainOtherHandle", CL_INVALID_COMMAND_BUFFER_KHR,
     CALL(api.retain(reinterpret_cast<cl_command_buffer_khr>(w.queue.get())))},
    {"FinalizeNull", CL_INVALID_COMMAND_BUFFER_KHR, CALL(api.finalize(nullptr))},
    {"FinalizeTwice", CL_INVALID_OPERATION, CALL(api.finalize(x.finalized))},
    {"InfoOfNull", CL_INVALID_COMMAND_BUFFER_KHR, CALL(info(api, nullptr, CL_COMMAND_BUFFER_STATE_KHR, 64))},
    {"InfoUnknown", CL_INVALID_VALUE, CALL(info(api, x.recording, CL_COMMAND_BUFFER_FLAGS_KHR, 64))},
    {"InfoTooSmall", CL_INVALID_VALUE, CALL(info(api, x.recording, CL_COMMAND_BUFFER_STATE_KHR, 3))},
};

cl_int replay(const CommandBufferApi& api, cl_uint count, cl_command_queue queue, cl_command_buffer_khr commands) {
  return api.enqueue(count, queue == nullptr ? nullptr : &queue, commands, 0, nullptr, nullptr);
}
cl_int replay_after(const CommandBufferApi& api, cl_command_buffer_khr commands, cl_uint count, cl_event event) {
  return api.enqueue(0, nullptr, commands, count, event == nullptr ? nullptr : &event, nullptr);
}
const WrongExtensionCall kReplays[] = {
    {"ReplayNull", CL_INVALID_COMMAND_BUFFER_KHR, CALL(replay(api, 0, nullptr, nullptr))},
    {"ReplayWhileRecording", CL_INVALID_OPERATION, CALL(replay(api, 0, nullptr, x.recording))},
    {"ReplayWhilePending", CL_INVALID_OPERATION, CALL(replay(api, 0, nullptr, x.pending))},
    {"ReplayQueuesWithoutCount", CL_INVALID_VALUE, CALL(replay(api, 0, w.queue, x.finalized))},
    {"ReplayCountWithoutQueues", CL_INVALID_VALUE, CALL(replay(api, 1, nullptr, x.finalized))},
    {"ReplayTwoQueues", CL_INVALID_VALUE, CALL(replay(api, 2, w.queue, x.finalized))},
    {"ReplayOnNoQueue", CL_INVALID_COMMAND_QUEUE,
     CALL(replay(api, 1, reinterpret_cast<cl_command_queue>(w.buffer.get()), x.finalized))},
    {"ReplayOnOtherProperties", CL_INCOMPATIBLE_COMMAND_QUEUE_KHR, CALL(replay(api, 1, x.profiling, x.finalized))},
    {"ReplayOnOtherContext", CL_INVALID_CONTEXT, CALL(replay(api, 1, x.foreign, x.finalized))},
    {"ReplayAfterNoEvents", CL_INVALID_EVENT_WAIT_LIST, CALL(replay_after(api, x.finalized, 1, nullptr))},
    {"ReplayAfterZeroEvents", CL_INVALID_EVENT_WAIT_LIST, CALL(replay_after(api, x.finalized, 0, w.gate))},
    {"ReplayAfterForeignEvent", CL_INVALID_CONTEXT, CALL(replay_after(api, x.finalized, 1, w.foreign_event))},
};

// What all recording calls refuse. A row makes one call wrong in one way.
struct Bad {
  cl_command_buffer_khr commands = Extra::get().recording;
  cl_command_queue queue = nullptr;
  cl_uint count = 0;
  const cl_sync_point_khr* list = nullptr;
  cl_mutable_command_khr* handle = nullptr;
};
using RecordingCall = cl_int (*)(World& w, const CommandBufferApi& api, const Bad& bad);
constexpr std::size_t kOne[] = {1, 1, 1}, kZero[] = {0, 0, 0};
const std::pair<const char*, RecordingCall> kRecordingCalls[] = {
    {"Barrier", [](World&, const CommandBufferApi& api,
                   const Bad& b) { return api.barrier(b.commands, b.queue, b.count, b.list, nullptr, b.handle); }},
    {"Copy",
     [](World& w, const CommandBufferApi& api, const Bad& b) {
       return api.copy(b.commands, b.queue, w.buffer, w.other, 0, 0, 64, b.count, b.list, nullptr, b.handle);
     }},
    {"CopyRect",
     [](World& w, const CommandBufferApi& api, const Bad& b) {
       return api.copy_rect(b.commands, b.queue, w.buffer, w.other, kZero, kZero, kOne, 0, 0, 0, 0, b.count, b.list,
                            nullptr, b.handle);
     }},
    {"Fill",
     [](World& w, const CommandBufferApi& api, const Bad& b) {
       return api.fill(b.commands, b.queue, w.buffer, "x", 1, 0, 64, b.count, b.list, nullptr, b.handle);
     }},
    {"Kernel",
     [](World& w, const CommandBufferApi& api, const Bad& b) {
       return api.kernel(b.commands, b.queue, nullptr, w.add, 1, nullptr, kOne, nullptr, b.count, b.list, nullptr,
                         b.handle);
     }},
    {"CopyImage",
     [](World& w, const CommandBufferApi& api, const Bad& b) {
       return api.copy_image(b.commands, b.queue, w.buffer, w.other, kZero, kZero, kOne, b.count, b.list, nullptr,
                             b.handle);
     }},
    {"FillImage",
     [](World& w, const CommandBufferApi& api, const Bad& b) {
       return api.fill_image(b.commands, b.queue, w.buffer, kOne, kZero, kOne, b.count, b.list, nullptr, b.handle);
     }},
};
TEST(WrongRecordingTest, AllRecordingCallsRefuseTheSame) {
  Extra& x = Extra::get();
  cl_mutable_command_khr handle = nullptr;
  const cl_sync_point_khr good = 1;
  const std::pair<cl_int, Bad> bads[] = {
      {CL_INVALID_COMMAND_BUFFER_KHR, {.commands = nullptr}},
      {CL_INVALID_OPERATION, {.commands = x.finalized}},
      {CL_INVALID_OPERATION, {.commands = x.pending}},
      {CL_INVALID_COMMAND_QUEUE, {.queue = x.w.queue}},
      {CL_INVALID_VALUE, {.handle = &handle}},
      {CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, {.count = 1}},
      {CL_INVALID_SYNC_POINT_WAIT_LIST_KHR, {.list = &good}},
  };
  for (const auto& [name, call] : kRecordingCalls) {
    for (const auto& [expected, bad] : bads) EXPECT_EQ(call(x.w, x.api, bad), expected) << name;
  }
}
TEST(WrongRecordingTest, SyncPointsThatDoNotExist) {
  Extra& x = Extra::get();
  for (const cl_sync_point_khr point : {0u, 1000u, ~0u}) {
    for (const auto& [name, call] : kRecordingCalls) {
      if (std::string(name).ends_with("Image")) continue;  // refused before
      EXPECT_EQ(call(x.w, x.api, {.count = 1, .list = &point}), CL_INVALID_SYNC_POINT_WAIT_LIST_KHR) << name << point;
    }
  }
}

cl_int copy(const CommandBufferApi& api, Extra& x, cl_mem from, cl_mem to, std::size_t source, std::size_t destination,
            std::size_t size) {
  return api.copy(x.recording, nullptr, from, to, source, destination, size, 0, nullptr, nullptr, nullptr);
}
cl_int fill(const CommandBufferApi& api, Extra& x, cl_mem buffer, const void* pattern, std::size_t pattern_size,
            std::size_t offset, std::size_t size) {
  return api.fill(x.recording, nullptr, buffer, pattern, pattern_size, offset, size, 0, nullptr, nullptr, nullptr);
}
cl_int kernel(const CommandBufferApi& api, Extra& x, cl_kernel kernel, cl_uint dimensions, std::size_t global,
              std::size_t local, const cl_ndrange_kernel_command_properties_khr* properties = nullptr) {
  const std::size_t globals[] = {global, 1, 1}, locals[] = {local, 1, 1};
  return api.kernel(x.recording, nullptr, properties, kernel, dimensions, nullptr, globals,
                    local == 0 ? nullptr : locals, 0, nullptr, nullptr, nullptr);
}
cl_int copy_rect(const CommandBufferApi& api, Extra& x, cl_mem from, cl_mem to, const std::size_t* region,
                 std::size_t pitch) {
  return api.copy_rect(x.recording, nullptr, from, to, kZero, kZero, region, pitch, 0, pitch, 0, 0, nullptr, nullptr,
                       nullptr);
}
constexpr std::size_t kWide[] = {64, 2, 1};
constexpr cl_ndrange_kernel_command_properties_khr kUnknownProperty[] = {0x4321, 1, 0};
const WrongExtensionCall kRecordings[] = {
    {"CopyFromNothing", CL_INVALID_MEM_OBJECT, CALL(copy(api, x, nullptr, w.other, 0, 0, 4))},
    {"CopyFromForeign", CL_INVALID_CONTEXT, CALL(copy(api, x, w.foreign, w.other, 0, 0, 4))},
    {"CopyToForeign", CL_INVALID_CONTEXT, CALL(copy(api, x, w.buffer, w.foreign, 0, 0, 4))},
    {"CopyPastEnd", CL_INVALID_VALUE, CALL(copy(api, x, w.buffer, w.other, 4090, 0, 64))},
    {"CopyOverlap", CL_MEM_COPY_OVERLAP, CALL(copy(api, x, w.buffer, w.buffer, 0, 32, 64))},
    {"RectToForeign", CL_INVALID_CONTEXT, CALL(copy_rect(api, x, w.buffer, w.foreign, kWide, 0))},
    {"RectOfNothing", CL_INVALID_VALUE, CALL(copy_rect(api, x, w.buffer, w.other, kZero, 0))},
    {"RectShortPitch", CL_INVALID_VALUE, CALL(copy_rect(api, x, w.buffer, w.other, kWide, 32))},
    {"RectOverlap", CL_MEM_COPY_OVERLAP, CALL(copy_rect(api, x, w.buffer, w.buffer, kWide, 0))},
    {"FillForeign", CL_INVALID_CONTEXT, CALL(fill(api, x, w.foreign, "x", 1, 0, 4))},
    {"FillWithNothing", CL_INVALID_VALUE, CALL(fill(api, x, w.buffer, nullptr, 1, 0, 4))},
    {"FillOddPattern", CL_INVALID_VALUE, CALL(fill(api, x, w.buffer, "xxx", 3, 0, 6))},
    {"FillPastEnd", CL_INVALID_VALUE, CALL(fill(api, x, w.buffer, "x", 1, 4096, 1))},
    {"KernelNull", CL_INVALID_KERNEL, CALL(kernel(api, x, nullptr, 1, 1, 0))},
    {"KernelForeign", CL_INVALID_CONTEXT, CALL(kernel(api, x, x.foreign_kernel, 1, 1, 0))},
    {"KernelWithoutArguments", CL_INVALID_KERNEL_ARGS, CALL(kernel(api, x, w.no_arguments_set, 1, 1, 0))},
    {"KernelNoDimensions", CL_INVALID_WORK_DIMENSION, CALL(kernel(api, x, w.add, 0, 1, 0))},
    {"KernelFourDimensions", CL_INVALID_WORK_DIMENSION, CALL(kernel(api, x, w.add, 4, 1, 0))},
    {"KernelOtherGroupThanRequired", CL_INVALID_WORK_GROUP_SIZE, CALL(kernel(api, x, w.by_four, 1, 8, 2))},
    {"KernelUnknownProperty", CL_INVALID_VALUE, CALL(kernel(api, x, w.add, 1, 1, 0, kUnknownProperty))},
    {"BufferAsImageToBuffer", CL_INVALID_MEM_OBJECT,
     CALL(api.copy_image_to_buffer(x.recording, nullptr, w.buffer, w.other, kZero, kOne, 0, 0, nullptr, nullptr,
                                   nullptr))},
    {"BufferAsImageFromBuffer", CL_INVALID_MEM_OBJECT,
     CALL(api.copy_buffer_to_image(x.recording, nullptr, w.buffer, w.other, 0, kZero, kOne, 0, nullptr, nullptr,
                                   nullptr))},
};

cl_int content_size(cl_mem buffer, cl_mem size_buffer, const char* name = "clSetContentSizeBufferPoCL") {
  using Function = cl_int(CL_API_CALL*)(cl_mem, cl_mem);
  const auto set =
      reinterpret_cast<Function>(clGetExtensionFunctionAddressForPlatform(Environment::get().remote_platform(), name));
  return set == nullptr ? CL_INVALID_OPERATION : set(buffer, size_buffer);
}
const WrongExtensionCall kContentSizes[] = {
    {"ContentSizeOfNothing", CL_INVALID_MEM_OBJECT, CALL(content_size(nullptr, w.other))},
    {"ContentSizeInNothing", CL_INVALID_MEM_OBJECT, CALL(content_size(w.buffer, nullptr))},
    {"ContentSizeInForeign", CL_INVALID_CONTEXT, CALL(content_size(w.buffer, w.foreign))},
    {"ContentSizeInTooSmall", CL_INVALID_BUFFER_SIZE, CALL(content_size(w.buffer, x.small))},
    {"ContentSizeInSubBuffer", CL_INVALID_MEM_OBJECT, CALL(content_size(w.buffer, w.sub))},
};

INSTANTIATE_TEST_SUITE_P(Create, WrongExtensionCallTest, ::testing::ValuesIn(kCreates), name_of);
INSTANTIATE_TEST_SUITE_P(Life, WrongExtensionCallTest, ::testing::ValuesIn(kLives), name_of);
INSTANTIATE_TEST_SUITE_P(Replay, WrongExtensionCallTest, ::testing::ValuesIn(kReplays), name_of);
INSTANTIATE_TEST_SUITE_P(Record, WrongExtensionCallTest, ::testing::ValuesIn(kRecordings), name_of);
INSTANTIATE_TEST_SUITE_P(ContentSize, WrongExtensionCallTest, ::testing::ValuesIn(kContentSizes), name_of);

TEST(CommandBufferInfoTest, TellsWhatItWasMadeOf) {
  World& w = World::remote();
  const CommandBufferApi& api = CommandBufferApi::get();
  const Recorded recorded(w.queue), recorded_simultaneous(w.queue, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR);
  const cl_command_buffer_khr plain = recorded, simultaneous = recorded_simultaneous;
  EXPECT_EQ(value<cl_uint>(api.info, plain, cl_uint{CL_COMMAND_BUFFER_NUM_QUEUES_KHR}), 1u);
  EXPECT_EQ(value<cl_command_queue>(api.info, plain, cl_uint{CL_COMMAND_BUFFER_QUEUES_KHR}), w.queue.get());
  EXPECT_TRUE(
      list<cl_command_buffer_properties_khr>(api.info, plain, cl_uint{CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR}).empty());
  EXPECT_EQ(
      list<cl_command_buffer_properties_khr>(api.info, simultaneous, cl_uint{CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR}),
      (std::vector<cl_command_buffer_properties_khr>{CL_COMMAND_BUFFER_FLAGS_KHR,
                                                     CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0}));
  const auto references = [&] {
    return value<cl_uint>(api.info, plain, cl_uint{CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR});
  };
  EXPECT_EQ(references(), 1u);
  check(api.retain(plain));
  EXPECT_EQ(references(), 2u);
  check(api.release(plain));
  EXPECT_EQ(references(), 1u);
}

}  // namespace
}  // namespace remotecl::testing
