// Arguments from the wire that a client of ours does not send: the driver would believe them.
#include "server/fixture.h"

namespace remotecl::testing {
namespace {

constexpr const char* kKindsSource = R"(
kernel void kinds(read_only image2d_t image, sampler_t sampler, global int* data, long number, local int* scratch) {
  scratch[0] = read_imagei(image, sampler, (float2)(0, 0)).x + (int)number;
  barrier(CLK_LOCAL_MEM_FENCE);
  data[0] = scratch[0];
}
kernel void scratch(global int* data, local int* first, local int* second) {
  first[0] = second[0] = data[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  data[0] = first[0] + second[0] + 1;
}
)";

class ArgumentTest : public CommandTest {
 protected:
  ArgumentTest() {
    program_ = client_.id();
    const auto done = client_.build(program_, kKindsSource);
    done->builds.for_each([](const DeviceBuild& build) { EXPECT_EQ(build.error, 0) << build.log; });
    image_ = client_.id();
    client_.add(
        CreateImage{image_, 0, CL_MEM_READ_WRITE, CL_RGBA, CL_SIGNED_INT32, CL_MEM_OBJECT_IMAGE2D, 4, 4, 0, 0, 0});
    sampler_ = client_.id();
    client_.add(CreateSampler{sampler_, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST});
  }

  std::int32_t failure_with(const char* kernel, std::span<const KernelArgument> arguments) {
    const EventId event = client_.id();
    client_.enqueue(queue_, client_.make_kernel(program_, kernel), 1, arguments, event);
    client_.flush();
    return failure_of(event);
  }

  ObjectId image_ = 0, sampler_ = 0;
};

TEST_F(ArgumentTest, KindsThatTheKernelDoesNotDeclareAreRefused) {
  const std::int64_t number = 0x10;
  const auto value = [&](std::uint32_t index) { return value_argument(index, number); };
  const auto object = [](std::uint32_t index, ArgumentKind kind, ObjectId id) {
    return KernelArgument{index, kind, id, {}};
  };
  const KernelArgument wrong[] = {
      value(0),
      memory_argument(0, buffer_),
      object(0, ArgumentKind::kSampler, sampler_),
      object(0, ArgumentKind::kLocal, 64),
      value(1),
      memory_argument(1, buffer_),
      object(1, ArgumentKind::kImage, image_),
      object(1, ArgumentKind::kLocal, 64),
      value(2),
      object(2, ArgumentKind::kImage, image_),
      object(2, ArgumentKind::kSampler, sampler_),
      object(2, ArgumentKind::kLocal, 64),
      memory_argument(3, buffer_),
      object(3, ArgumentKind::kImage, image_),
      object(3, ArgumentKind::kSampler, sampler_),
      value(4),
      memory_argument(4, buffer_),
      object(4, ArgumentKind::kOther, 1),
  };
  for (const KernelArgument& argument : wrong) {
    EXPECT_EQ(failure_with("kinds", std::span(&argument, 1)), CL_INVALID_ARG_VALUE)
        << "argument " << argument.index << " as kind " << static_cast<std::uint32_t>(argument.kind);
  }
  const KernelArgument none = object(0, ArgumentKind::kImage, 0);
  EXPECT_EQ(failure_with("kinds", std::span(&none, 1)), CL_INVALID_MEM_OBJECT);
  client_.finish(queue_);
}

TEST_F(ArgumentTest, MoreLocalMemoryThanThereIsIsRefused) {
  for (const std::uint64_t size : {std::uint64_t{1} << 32, ~std::uint64_t{0}, ~std::uint64_t{0} - 31}) {
    const KernelArgument arguments[] = {
        memory_argument(0, buffer_), {1, ArgumentKind::kLocal, 64, {}}, {2, ArgumentKind::kLocal, size, {}}};
    EXPECT_EQ(failure_with("scratch", arguments), CL_OUT_OF_RESOURCES) << size;
  }
  const KernelArgument arguments[] = {
      memory_argument(0, buffer_), {1, ArgumentKind::kLocal, 64, {}}, {2, ArgumentKind::kLocal, 64, {}}};
  client_.enqueue(queue_, client_.make_kernel(program_, "scratch"), 1, arguments);
  EXPECT_EQ(client_.read<int>(queue_, buffer_, 1)[0], 1);
}

}  // namespace
}  // namespace remotecl::testing
