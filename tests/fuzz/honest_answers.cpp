#include "honest_answers.h"

#include <CL/cl.h>

#include <array>
#include <string>

namespace remotecl::fuzz {
namespace {

using Answers = std::vector<Record>;

const std::array<std::byte, 64> kBytes{};

EventDone done(EventId event) { return {event, 0, 1, {1, 2, 3, 4}}; }

Answers answer(const Ping& message) { return {record_of(Pong{message.token})}; }
Answers answer(const Finish& message) { return {record_of(Finished{message.token})}; }
Answers answer(const ObserveEvent& message) { return {record_of(done(message.event))}; }
Answers answer(const ReadClock& message) { return {record_of(Clock{message.token, 0, 1000})}; }
Answers answer(const QueryCommandBuffer& message) { return {record_of(CommandBufferState{message.token, 0})}; }
Answers answer(const GetProgramBinary& message) { return {record_of(ProgramBinary{message.token, 0, kBytes})}; }
Answers answer(const SpecializeProgram& message) { return {record_of(NativeAnswer{message.token, 0, 0, {}})}; }
Answers answer(const QueryKernel& message) {
  return {record_of(NativeAnswer{message.token, 0, 8, Bytes(kBytes).first(8)})};
}
Answers answer(const SuggestLocalSize& message) {
  return {record_of(NativeAnswer{message.token, 0, 24, Bytes(kBytes).first(24)})};
}
Answers answer(const AllocateSvm& message) { return {record_of(SvmAllocated{message.token, 0, message.address})}; }

Answers answer(const CreateNetwork& message) { return {record_of(NetworkCreated{message.token, 0, 1u << 20, {}})}; }

Answers answer(const GetImageFormats& message) {
  const std::uint32_t formats[] = {CL_RGBA, CL_UNORM_INT8};
  return {record_of(ImageFormats{message.token, 0, std::span<const std::uint32_t>(formats)})};
}

Answers answer(const CreateSubDevices& message) {
  const cl_uint units = 2;
  const InfoValue info[] = {{CL_DEVICE_MAX_COMPUTE_UNITS, std::as_bytes(std::span(&units, 1))}};
  std::vector<DeviceDescription> devices;
  for (std::size_t i = 0; i < message.indices.size() && i < 2; ++i) {
    devices.push_back({message.indices[i], {}, std::span<const InfoValue>(info)});
  }
  return {record_of(SubDevices{message.token, 0, 2, std::span<const DeviceDescription>(devices)})};
}

Answers built(Token token, const Array<std::uint32_t>& devices) {
  const ArgumentDescription arguments[] = {
      {ArgumentKind::kMemory, 8, 0, CL_KERNEL_ARG_ADDRESS_GLOBAL, 0, 0, "int*", "a"},
      {ArgumentKind::kValue, 4, 0, CL_KERNEL_ARG_ADDRESS_PRIVATE, 0, 0, "int", "b"}};
  const KernelDescription kernels[] = {
      {"k", "", 64, {0, 0, 0}, 0, 8, 0, std::span<const ArgumentDescription>(arguments)}};
  std::vector<DeviceBuild> builds;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    builds.push_back({devices[i], 0, CL_BUILD_SUCCESS, 1, CL_PROGRAM_BINARY_TYPE_EXECUTABLE, 0, 0, 0, "log",
                      std::span<const KernelDescription>(kernels)});
  }
  return {record_of(BuildDone{token, std::span<const DeviceBuild>(builds)})};
}
Answers answer(const BuildProgram& message) { return built(message.token, message.devices); }
Answers answer(const CompileProgram& message) { return built(message.token, message.devices); }
Answers answer(const LinkProgram& message) { return built(message.token, message.devices); }
Answers answer(const InspectProgram& message) { return built(message.token, message.devices); }

// The bytes of a read, and its end. With `may_be_short` their number is reported, too.
Answers bytes_of(TransferId transfer, EventId event, std::uint64_t size, bool may_be_short = false) {
  Answers answers;
  if (size <= kInlineDataMax) {
    const std::vector<std::byte> bytes(size, std::byte{1});
    if (event != 0) answers.push_back(record_of(done(event), kControlUnawaited));
    answers.push_back(record_of(ReadData{transfer, bytes}));
    return answers;
  }
  answers.push_back(chunk_record({transfer, static_cast<std::uint32_t>(size), 0}, {}));
  if (may_be_short) answers.push_back(record_of(TransferSize{transfer, size}, kControlUnawaited));
  answers.push_back(record_of(done(event)));
  return answers;
}
Answers answer(const EnqueueRead& message) {
  return bytes_of(message.transfer, message.event, message.size, message.content_size != 0);
}
Answers answer(const EnqueueReadRect& message) {
  return bytes_of(message.transfer, message.event, message.region[0] * message.region[1] * message.region[2]);
}
Answers answer(const EnqueueReadImage& message) {
  return bytes_of(message.transfer, message.event, 4 * message.region[0] * message.region[1] * message.region[2]);
}

template <class Message>
Answers pulled(const Message& message) {
  if (message.transfer == 0) return {};
  Answers answers;
  if (message.event != 0) answers.push_back(record_of(done(message.event), kControlUnawaited));
  answers.push_back(record_of(PullTransfer{message.transfer}));
  return answers;
}
Answers answer(const EnqueueWrite& message) { return pulled(message); }
Answers answer(const EnqueueWriteRect& message) { return pulled(message); }
Answers answer(const EnqueueWriteImage& message) { return pulled(message); }

template <class Message>
Answers answer(const Message&) {
  return {};
}

template <class Message>
Answers decode_and_answer(Bytes payload) {
  Message message{};
  return Decoder(payload).read(message) ? answer(message) : Answers{};
}

}  // namespace

std::vector<Record> honest_answers(std::uint16_t code, Bytes payload) {
  switch (code) {
#define REMOTECL_COMMAND(name, number, thread) \
  case number:                                 \
    return decode_and_answer<name>(payload);
#define REMOTECL_REPORT(name, number)
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
    default:
      return {};
  }
}

}  // namespace remotecl::fuzz
