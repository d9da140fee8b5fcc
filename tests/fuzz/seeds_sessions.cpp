// Sessions to begin with.
#include <CL/cl.h>

#include "seeds.h"

namespace remotecl::fuzz {
namespace {

Script buffers(std::uint32_t device, std::uint64_t properties) {
  Script script = with_buffers(device, properties);
  script.add(CreateSubBuffer{4, 1, 1, 128, 256})
      .add(EnqueueWrite{1, 1, 1, 16, 64, 0, data(64), {}})
      .add(EnqueueFill{1, 2, 2, 64, 128, data(4), Ids{1}})
      .add(EnqueueCopy{1, 3, 2, 1, 64, 0, 64, Ids{1, 2}})
      .add(EnqueueCopyRect{1, 4, 1, 3, {0, 1, 0}, {4, 0, 1}, {8, 2, 2}, 16, 64, 16, 64, Ids{3}})
      .add(EnqueueReadRect{1, 5, 3, {4, 0, 0}, {8, 2, 2}, 16, 64, 1, Ids{4}})
      .add(EnqueueWriteRect{1, 6, 3, {0, 0, 0}, {4, 2, 1}, 16, 64, 0, data(8), {}})
      .add(EnqueueRead{1, 7, 4, 8, 32, 2, {}})
      .add(EnqueueRead{1, 8, 1, 0, 64, 3, Ids{7}, 2})
      .add(EnqueueMarker{1, 9, 1, 1, Ids{8}})
      .add(EnqueueMarker{1, 10, 0, 0, Ids{9}})
      .add(ObserveEvent{9})
      .add(Finish{1, 11})
      .add(ReleaseEvent{9})
      .add(ReleaseBuffer{1})
      .add(ReleaseQueue{1});
  return script;
}

Script bulk(std::uint32_t device) {
  Script script;
  constexpr std::uint64_t kSize = kInlineDataMax + 64;
  script.add(CreateQueue{1, device, 0})
      .add(CreateBuffer{1, 1, 200000})
      .add(CreateBuffer{2, 1, 4096})
      .add(EnqueueWrite{1, 1, 1, 64, 1024, 1, {}, {}})
      .chunk(1, 1000)
      .chunk(1, 24)
      .add(EnqueueWrite{1, 2, 2, 0, 512, 2, {}, Ids{1}, 1})
      .chunk(2, 512, kPushedChunk)
      .add(EnqueueRead{1, 3, 1, 0, kSize, 3, {}})
      .add(EnqueueRead{1, 4, 1, 0, kSize, 4, {}, 2})
      .add(EnqueueWriteRect{1, 5, 1, {0, 0, 0}, {16, 4, 2}, 32, 256, 5, {}, {}})
      .chunk(5, 128)
      .add(EnqueueReadRect{1, 6, 1, {0, 0, 0}, {300, 300, 1}, 400, 0, 6, {}})
      .add(EnqueueWrite{1, 7, 1, 64, 1024, 7, {}, {}})
      .add(OfferChunks{7, 0, data(32)})
      .chunk(7, 0, -5)
      .add(Finish{1, 1});
  return script;
}

KernelArgument memory_argument(std::uint32_t index, ObjectId id) { return {index, ArgumentKind::kMemory, id, {}}; }
KernelArgument value_argument(std::uint32_t index, std::size_t size) {
  return {index, ArgumentKind::kValue, 0, data(size)};
}

Script programs() {
  const Array<std::uint32_t> both{std::span<const std::uint32_t>(kDevices)};
  const HeaderFile headers[] = {{"/include/a.h", as_bytes("k_v")}, {"/include/b c/d.h", as_bytes("k_w")}};
  const IncludeFolder folders[] = {{"/include"}, {"/include/b c"}};
  const IncludedProgram included[] = {{2, "header.h"}};
  const ObjectId inputs[] = {1};
  const BuiltInKernels built_in[] = {{kProcessor, "k_m;k_v"}, {kAccelerator, "k_l"}};
  Script script;
  script.add(CreateProgramWithSource{1, as_bytes("k_mv k_clw k_is")})
      .add(CreateProgramWithSource{2, as_bytes("k_m")})
      .add(BuildProgram{1, 1, both, "-Dx", std::span<const IncludeFolder>(folders),
                        std::span<const HeaderFile>(headers)})
      .add(CompileProgram{1, 2, both, "", std::span<const IncludeFolder>(folders).first(1),
                          std::span<const HeaderFile>(headers).first(1), std::span<const IncludedProgram>(included)})
      .add(LinkProgram{3, 3, both, "-create-library", std::span<const ObjectId>(inputs)})
      .add(LinkProgram{4, 4, both, "", std::span<const ObjectId>(inputs)})
      .add(GetProgramBinary{4, kProcessor, 5})
      .add(CreateProgramWithBinary{5, kProcessor, as_bytes("BINARY:k_mv")})
      .add(AddProgramBinary{5, kAccelerator, as_bytes("BINARY:k_mv")})
      .add(InspectProgram{5, 6, both})
      .add(BuildProgram{5, 7, both, "", {}, {}})
      .add(CreateProgramWithIL{6, as_bytes("k_v")})
      .add(SpecializeProgram{6, 8, kAccelerator, 1, data(4)})
      .add(BuildProgram{6, 9, both, "", {}, {}})
      .add(CreateProgramWithBuiltInKernels{7, std::span<const BuiltInKernels>(built_in)})
      .add(InspectProgram{7, 10, both})
      .add(CreateProgramWithSource{8, as_bytes("error")})
      .add(BuildProgram{8, 11, both, "", {}, {}})
      .add(ReleaseProgram{8});
  return script;
}

Script kernels(std::uint32_t device, std::uint64_t properties, std::string_view source) {
  Script script = with_buffers(device, properties);
  const Array<std::uint32_t> one(&device, 1);
  const KernelArgument arguments[] = {memory_argument(0, 1), value_argument(1, 4)};
  const KernelArgument others[] = {memory_argument(0, 2), {1, ArgumentKind::kLocal, 64, {}}, value_argument(2, 16)};
  const KernelArgument opaque[] = {{0, ArgumentKind::kImage, 1, {}}, {1, ArgumentKind::kSampler, 1, {}}};
  const Extent none{0, 0, 0}, all{64, 2, 1}, local{8, 1, 1};
  script.add(CreateProgramWithSource{1, as_bytes(source)})
      .add(BuildProgram{1, 1, one, "", {}, {}})
      .add(CreateKernel{1, 1, "k_mv"})
      .add(CreateKernel{2, 1, "k_clw"})
      .add(CreateKernel{3, 1, "k_is"})
      .add(CreateImage{1, 0, 1, CL_RGBA, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D, 8, 8, 0, 0, 0})
      .add(CreateSampler{1, 1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST})
      .add(EnqueueKernel{1, 1, 1, 2, 1, none, all, local, std::span<const KernelArgument>(arguments), {}})
      .add(EnqueueKernel{1, 2, 2, 1, 0, none, all, local, std::span<const KernelArgument>(others), Ids{1}})
      .add(EnqueueKernel{1, 3, 3, 1, 0, none, all, local, std::span<const KernelArgument>(opaque), Ids{2}})
      .add(EnqueueKernel{1, 4, 1, 1, 0, none, all, local, {}, {}})
      .add(SuggestLocalSize{1, 1, 2, 1, none, all, std::span<const KernelArgument>(arguments)})
      .add(QueryKernel{1, device, 3, KernelQuery::kWorkGroup, CL_KERNEL_WORK_GROUP_SIZE, {}, 1, 8})
      .add(QueryKernel{1, device, 4, KernelQuery::kSubGroup, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, data(8), 1, 8})
      .add(ReleaseBuffer{1})
      .add(EnqueueKernel{1, 5, 1, 1, 0, none, all, local, {}, {}})
      .add(Finish{1, 5})
      .add(ReleaseKernel{1})
      .add(ReleaseSampler{1});
  return script;
}

// Whatever a client says that a buffer's, an image's and a sampler's handles are.
Script wrong_arguments() {
  Script script;
  const std::vector<std::byte> pointer(8, std::byte{0x41});
  for (const std::uint32_t device : kDevices) {
    const ObjectId id = device + 1;
    script.add(CreateQueue{id, device, 0})
        .add(CreateProgramWithSource{id, as_bytes("k_m k_i k_s")})
        .add(BuildProgram{id, id, Array<std::uint32_t>(&device, 1), "", {}, {}});
    ObjectId kernel = 10 * id;
    for (const std::string_view name : {"k_m", "k_i", "k_s"}) {
      const KernelArgument arguments[] = {{0, ArgumentKind::kValue, 0, pointer}};
      script.add(CreateKernel{++kernel, id, name})
          .add(EnqueueKernel{id, 0, kernel, 1, 0, {}, {4, 1, 1}, {}, std::span<const KernelArgument>(arguments), {}});
    }
  }
  return script;
}

// Of one name, with different contents.
Script repeated_headers() {
  const HeaderFile headers[] = {{"/include/a.h", as_bytes("k_v")}, {"/include/./a.h", as_bytes("k_w")}};
  Script script;
  script.add(CreateProgramWithSource{1, as_bytes("k_m")})
      .add(BuildProgram{1, 1, Array<std::uint32_t>(&kProcessor, 1), "", {}, std::span<const HeaderFile>(headers)});
  return script;
}

// A buffer on a part of a device, whose index another part gets.
Script repeated_indices() {
  const std::int64_t properties[] = {CL_DEVICE_PARTITION_EQUALLY, 4, 0};
  const std::uint32_t index = 65535;
  Script script;
  script.add(CreateBuffer{1, 1, 4096}).add(CreateProgramWithSource{1, as_bytes("k_ms")});
  script.add(CreateSampler{1, 1, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST});
  for (const std::uint32_t parent : kDevices) {
    const ObjectId id = parent + 1;
    const KernelArgument arguments[] = {memory_argument(0, 1), {1, ArgumentKind::kSampler, 1, {}}};
    script
        .add(CreateSubDevices{parent, id, std::span<const std::int64_t>(properties),
                              std::span<const std::uint32_t>(&index, 1)})
        .add(CreateQueue{id, index, 0})
        .add(EnqueueFill{id, 0, 1, 0, 16, data(4), {}});
    if (parent == kProcessor) script.add(BuildProgram{1, 1, Array<std::uint32_t>(&index, 1), "", {}, {}});
    if (parent == kProcessor) script.add(CreateKernel{1, 1, "k_ms"});
    script.add(EnqueueKernel{id, 0, 1, 1, 0, {}, {4, 1, 1}, {}, std::span<const KernelArgument>(arguments), {}})
        .add(Finish{id, id})
        .add(ReleaseQueue{id})
        .add(ReleaseSubDevice{index});
  }
  return script;
}

Script images(std::uint32_t device) {
  Script script = with_buffers(device);
  script.add(CreateImage{1, 0, 1, CL_RGBA, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D, 8, 8, 0, 0, 0})
      .add(CreateImage{2, 0, 1, CL_R, CL_FLOAT, CL_MEM_OBJECT_IMAGE3D, 4, 4, 4, 0, 0})
      .add(CreateImage{3, 1, 1, CL_RGBA, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE1D_BUFFER, 64, 0, 0, 0, 0})
      .add(CreateImage{4, 2, 1, CL_RGBA, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D, 8, 4, 0, 0, 64})
      .add(CreateImage{5, 0, 1, CL_R, CL_FLOAT, CL_MEM_OBJECT_IMAGE2D_ARRAY, 4, 4, 0, 3, 0})
      .add(EnqueueFillImage{1, 1, 1, {0, 0, 0}, {8, 8, 1}, {1, 2, 3, 4}, {}})
      .add(EnqueueWriteImage{1, 2, 1, {1, 1, 0}, {4, 2, 1}, 0, data(32), {}})
      .add(EnqueueCopyImage{1, 3, 1, 4, {0, 0, 0}, {0, 0, 0}, {4, 4, 1}, Ids{2}})
      .add(EnqueueCopyImageBuffer{1, 4, 2, 3, 1, {0, 0, 0}, {4, 4, 2}, 64, {}})
      .add(EnqueueCopyImageBuffer{1, 5, 5, 3, 0, {0, 0, 1}, {4, 4, 2}, 64, {}})
      .add(EnqueueCopyImage{1, 6, 3, 1, {0, 0, 0}, {0, 0, 0}, {8, 1, 1}, {}})
      .add(EnqueueReadImage{1, 7, 1, {0, 0, 0}, {8, 8, 1}, 1, {}})
      .add(EnqueueWriteImage{1, 8, 1, {0, 0, 0}, {8, 8, 1}, 2, {}, {}})
      .chunk(2, 256)
      .add(GetImageFormats{1, device, 1, CL_MEM_OBJECT_IMAGE2D})
      .add(ReleaseImage{1});
  return script;
}

Script events() {
  Script script = with_buffers(kProcessor, 0);
  script.add(CreateQueue{2, kAccelerator, 3})
      .add(CreateQueue{3, kProcessor, 1})
      .add(ExpectEvent{1})
      .add(EnqueueWrite{1, 2, 1, 0, 16, 0, data(16), Ids{1}})
      .add(EnqueueRead{2, 3, 1, 0, 16, 1, Ids{2}})
      .add(EnqueueCopy{3, 4, 1, 2, 0, 0, 16, Ids{3, 2}})
      .add(EnqueueMarker{3, 5, 1, 1, {}})
      .add(ObserveEvent{4})
      .add(EnqueueWrite{1, 6, 1, 0, 512, 2, {}, Ids{1}, 1})
      .chunk(2, 512, kPushedChunk)
      .add(SignalEvent{1, 0})
      .add(EnqueueTransfer{2, 7, 1, 0, kProcessor, 0, 64, Ids{4}})
      .add(EnqueueTransfer{1, 8, 1, 0, kAccelerator, 0, 64, Ids{7}})
      .add(ExpectEvent{9})
      .add(ExpectEnd{11, 9, 0})
      .add(EnqueueFill{1, 10, 1, 0, 16, data(4), Ids{9}})
      .add(ExpectEnd{12, 10, 1})
      .add(EnqueueFill{1, 13, 1, 0, 16, data(4), Ids{11, 12}})
      .add(SignalEvent{9, -5})
      .add(Finish{1, 1})
      .add(Finish{2, 2})
      .add(Finish{3, 3});
  return script;
}

// A network as an argument of kernels, recorded ones too, and as what it is not.
Script networks() {
  const std::uint32_t processor[] = {kProcessor};
  const KernelArgument arguments[] = {{0, ArgumentKind::kMemory, 10, {}}};
  Script script = with_buffers(kProcessor);
  script.add(CreateProgramWithSource{1, as_bytes("k_m")})
      .add(BuildProgram{1, 1, std::span<const std::uint32_t>(processor), "", {}, {}})
      .add(CreateKernel{1, 1, "k_m"})
      .add(CreateNetwork{10, 2, kProcessor, 4, 1024})
      .add(CreateNetwork{11, 3, kAccelerator, 4, 1024})
      .add(CreateNetwork{12, 4, kProcessor, ~0u, 1000})
      .add(EnqueueKernel{1, 1, 1, 1, 0, {}, {4, 1, 1}, {}, std::span<const KernelArgument>(arguments), {}})
      .add(EnqueueWrite{1, 2, 10, 0, 16, 0, data(16), {}})
      .add(CreateSubBuffer{13, 10, 1, 0, 100})
      .add(StopNetwork{10})
      .add(ReleaseBuffer{10})
      .add(EnqueueKernel{1, 4, 1, 1, 0, {}, {4, 1, 1}, {}, {}, {}})
      .add(ReleaseQueue{1});
  return script;
}

Script shared_memory() {
  const std::uint32_t processor[] = {kProcessor}, accelerator[] = {kAccelerator};
  const std::uint64_t address = 0x100000000000;
  const std::uint64_t pointers[] = {address + 8};
  const KernelArgument arguments[] = {{0, ArgumentKind::kSvm, address, {}}};
  Script script = with_buffers(kProcessor);
  script.add(CreateProgramWithSource{1, as_bytes("k_m")})
      .add(BuildProgram{1, 1, std::span<const std::uint32_t>(processor), "", {}, {}})
      .add(CreateKernel{1, 1, "k_m"})
      .add(AllocateSvm{10, 2, std::span<const std::uint32_t>(processor), 1, 8192, 4096, address})
      .add(AllocateSvm{11, 3, std::span<const std::uint32_t>(accelerator), 1, 100, 64, 0})
      .add(SetKernelSvm{1, std::span<const std::uint64_t>(pointers)})
      .add(EnqueueKernel{1, 1, 1, 1, 0, {}, {4, 1, 1}, {}, std::span<const KernelArgument>(arguments), {}})
      .add(EnqueueWrite{1, 2, 10, 0, 16, 0, data(16), {}})
      .add(CreateSubBuffer{12, 10, 1, 3, 100})
      .add(EnqueueRead{1, 3, 12, 0, 16, 1, {}})
      .add(ReleaseBuffer{10})
      .add(EnqueueKernel{1, 4, 1, 1, 0, {}, {4, 1, 1}, {}, {}, {}})
      .add(ReleaseQueue{1});
  return script;
}

Script parts() {
  const std::int64_t properties[] = {CL_DEVICE_PARTITION_EQUALLY, 2, 0};
  const std::uint32_t indices[] = {5, 6};
  Script script = with_buffers(kProcessor);
  script
      .add(CreateSubDevices{kProcessor, 1, std::span<const std::int64_t>(properties),
                            std::span<const std::uint32_t>(indices)})
      .add(CreateQueue{2, 5, 0})
      .add(EnqueueFill{2, 1, 1, 0, 16, data(4), {}})
      .add(EnqueueTransfer{1, 2, 1, 0, 5, 0, 64, Ids{1}})
      .add(ReleaseQueue{2})
      .add(ReleaseSubDevice{5})
      .add(CreateSubDevices{kProcessor, 2, std::span<const std::int64_t>(properties),
                            std::span<const std::uint32_t>(indices).first(0)})
      .add(ReadClock{kProcessor, 3})
      .add(ReadClock{kAccelerator, 4})
      .add(ReadClock{kServerClock, 5})
      .add(Ping{6})
      .add(Introduce{7, "host", "program", 1000, {1}})
      .add(GetStatus{8})
      .add(WatchLoads{1})
      .add(WatchLoads{0})
      .add(EnqueueFill{1, 0, 1, 0, 16, data(4), {}})
      .add(FlushTrace{})
      .add(Leave{})
      .add(ClientReceived{StreamKind::kControl, 0, 9});
  return script;
}

template <class Message>
RecordedCommand recorded(std::vector<Record>& kept, const Message& message) {
  kept.push_back(record_of(message));
  return {Message::kCode, kept.back().payload};
}

Script command_buffers(std::uint32_t device, std::uint64_t properties) {
  Script script = kernels(device, properties, "k_mv k_clw k_is");
  const KernelArgument arguments[] = {memory_argument(0, 2), value_argument(1, 4)};
  std::vector<Record> kept;
  kept.reserve(8);
  const RecordedCommand commands[] = {
      recorded(kept, EnqueueKernel{0, 1, 1, 1, 0, {}, {4, 1, 1}, {}, std::span<const KernelArgument>(arguments), {}}),
      recorded(kept, EnqueueCopy{0, 2, 2, 3, 0, 0, 16, Ids{1}}),
      recorded(kept, EnqueueFill{0, 3, 3, 0, 16, data(4), {}}),
      recorded(kept, EnqueueMarker{0, 4, 1, 1, {}}),
      recorded(kept, EnqueueFillImage{0, 5, 1, {0, 0, 0}, {2, 2, 1}, {}, {}}),
      recorded(kept, EnqueueCopyImage{0, 6, 1, 1, {0, 0, 0}, {4, 4, 0}, {2, 2, 1}, Ids{5}}),
      recorded(kept, EnqueueCopyImageBuffer{0, 7, 1, 3, 1, {0, 0, 0}, {2, 2, 1}, 0, {}}),
      recorded(kept, EnqueueCopyRect{0, 8, 2, 3, {}, {}, {4, 2, 1}, 0, 0, 0, 0, Ids{1, 2}})};
  Script recording = with_buffers(device, properties);
  recording.add(CreateProgramWithSource{1, as_bytes("k_mv")})
      .add(BuildProgram{1, 1, Array<std::uint32_t>(&device, 1), "", {}, {}})
      .add(CreateKernel{1, 1, "k_mv"})
      .add(CreateImage{1, 0, 1, CL_RGBA, CL_UNORM_INT8, CL_MEM_OBJECT_IMAGE2D, 8, 8, 0, 0, 0})
      .add(CreateCommandBuffer{1, device, std::span<const RecordedCommand>(commands)})
      .add(EnqueueCommandBuffer{1, 1, 1, {}})
      .add(ExpectEvent{2})
      .add(EnqueueCommandBuffer{1, 3, 1, Ids{2}})
      .add(QueryCommandBuffer{1, 2})
      .add(SignalEvent{2, 0})
      .add(Finish{1, 3})
      .add(ReleaseCommandBuffer{1});
  return recording;
}

}  // namespace

Script with_buffers(std::uint32_t device, std::uint64_t properties) {
  Script script;
  script.add(CreateQueue{1, device, properties});
  for (ObjectId buffer = 1; buffer <= 3; ++buffer) script.add(CreateBuffer{buffer, 1, 4096});
  return script;
}

std::map<std::string, Script> session_seeds() {
  std::map<std::string, Script> seeds;
  for (const std::uint32_t device : kDevices) {
    const std::string suffix = device == kProcessor ? "-processor" : "-accelerator";
    seeds.emplace("buffers" + suffix, buffers(device, 0));
    seeds.emplace("buffers-out-of-order" + suffix, buffers(device, 3));
    seeds.emplace("bulk" + suffix, bulk(device));
    seeds.emplace("kernels" + suffix, kernels(device, 2, "k_mv k_clw k_is"));
    seeds.emplace("printing" + suffix, kernels(device, 0, "printf k_mv k_clw k_is"));
    seeds.emplace("images" + suffix, images(device));
    seeds.emplace("command-buffers" + suffix, command_buffers(device, 0));
    seeds.emplace("command-buffers-out-of-order" + suffix, command_buffers(device, 1));
    seeds.emplace("peers" + suffix, session_with_peers(device));
  }
  seeds.emplace("pointer-as-value", wrong_arguments());
  seeds.emplace("header-twice", repeated_headers());
  seeds.emplace("device-index-again", repeated_indices());
  seeds.emplace("programs", programs());
  seeds.emplace("events", events());
  seeds.emplace("networks", networks());
  seeds.emplace("shared-memory", shared_memory());
  seeds.emplace("parts", parts());
  return seeds;
}

}  // namespace remotecl::fuzz
