#include "runtime/client/split/proven_slices.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "runtime/client/split/proof_table.h"

namespace remotecl {
namespace {

std::vector<const Device*> devices_of(std::span<CommandQueue* const> queues, const Program& program) {
  std::vector<const Device*> devices;
  for (const CommandQueue* queue : queues) {
    const Device& device = queue->device();
    if (!device.is_automatic()) devices.push_back(&device);
    for (const Device* member : device.members()) {
      if (!member->lost() && program.built(*member)) devices.push_back(member);
    }
  }
  return devices;
}

// The value of a scalar argument; nullopt if an int64_t does not hold it.
std::optional<std::int64_t> number(const std::vector<std::byte>& value, const proof::ScalarArgument& argument) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, value.data(), std::min(value.size(), sizeof bits));
  const unsigned unused = 64 - 8 * argument.bytes;
  if (argument.is_signed) return static_cast<std::int64_t>(bits << unused) >> unused;
  if (bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(bits);
}

// Why the arguments are not those that the source takes; empty if they are. Fills in the launch's values.
std::string read_arguments(const Kernel& kernel, const std::vector<Kernel::Argument>& arguments,
                           const std::vector<proof::ScalarArgument>& expected, proof::Launch& launch) {
  if (arguments.size() != expected.size()) return "the source has another number of arguments than the kernel";
  launch.values.resize(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Kernel::Argument& argument = arguments[i];
    const std::string name = "argument " + std::to_string(i) + " of " + kernel.info().name + ": ";
    if (expected[i].bytes != 0) {
      if (argument.value.size() != expected[i].bytes) return name + "its size is not that of the source";
      if (expected[i].is_integer) launch.values[i] = number(argument.value, expected[i]);
      continue;
    }
    if (argument.kind == ArgumentKind::kSvm) return name + "shared virtual memory is not followed";
    const MemoryObject* const memory = argument.memory.get();
    if (argument.kind != ArgumentKind::kMemory) return name + "it is no buffer";
    if (memory == nullptr) continue;
    if (memory->image() != nullptr || memory->network_device() != nullptr) return name + "it is no buffer";
    if (memory->uses_svm()) return name + "shared virtual memory is not followed";
  }
  return {};
}

// Names two arguments that share memory of which one is written; empty if there are none.
std::string overlap(const std::vector<Kernel::Argument>& arguments, const std::vector<proof::Part>& parts) {
  for (const proof::Part& written : parts) {
    const MemoryObject* const memory = arguments[written.argument].memory.get();
    if (!written.is_written || memory == nullptr) continue;
    const ByteRange range = memory->range(0, memory->size());
    for (const proof::Part& other : parts) {
      const MemoryObject* const beside = arguments[other.argument].memory.get();
      if (&other == &written || beside == nullptr || &beside->storage() != &memory->storage()) continue;
      const ByteRange used = beside->range(0, beside->size());
      if (used.offset >= range.offset + range.size || range.offset >= used.offset + used.size) continue;
      return "arguments " + std::to_string(written.argument) + " and " + std::to_string(other.argument) +
             " share memory, and the kernel writes the first of these";
    }
  }
  return {};
}

Slice slice_of(const proof::Part& part) {
  Slice slice{part.argument, false, part.item_bytes, part.before, part.after, !part.is_written};
  if (part.is_whole) slice.before = slice.after = ~std::uint64_t{0};
  return slice;
}

ProvenSlices refused(std::string why) { return {{}, std::move(why)}; }

}  // namespace

ProvenSlices prove_slices(Kernel& kernel, std::span<CommandQueue* const> queues, const NDRange& range,
                          cl_uint dimension) {
  const Program& program = kernel.program();
  if (program.code().origin != ProgramOrigin::kSource) return refused("its program was not made from source");
  std::optional<std::string> options;
  for (const Device* device : devices_of(queues, program)) {
    const std::string of_device = program.build_info(*device).options;
    if (options.value_or(of_device) != of_device) return refused("its program was built with other options elsewhere");
    options = of_device;
    if (device->number<cl_uint>(CL_DEVICE_ADDRESS_BITS, 64) < 64) return refused("a device has addresses of 32 bits");
  }
  const auto proof = ProofTable::instance().of(kernel, options.value_or(""));
  if (!proof->why_not().empty()) return refused(proof->why_not());
  proof::Launch launch;
  launch.dimension = dimension;
  launch.offset.assign(range.offset.begin(), range.offset.end());
  launch.global.assign(range.global.begin(), range.global.end());
  const MutexLock lock(kernel.mutex());
  std::string why = read_arguments(kernel, kernel.arguments(), proof->arguments(), launch);
  if (!why.empty()) return refused(std::move(why));
  if (!kernel.svm_memory().empty()) return refused("shared virtual memory is not followed");
  proof::Verdict verdict = proof->divide(launch);
  if (!verdict.why_not.empty()) return refused(std::move(verdict.why_not));
  why = overlap(kernel.arguments(), verdict.parts);
  if (!why.empty()) return refused(std::move(why));
  ProvenSlices proven;
  for (const proof::Part& part : verdict.parts) {
    if (kernel.arguments()[part.argument].memory.get() != nullptr) proven.slices.push_back(slice_of(part));
  }
  return proven;
}

}  // namespace remotecl
