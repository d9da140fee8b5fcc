#include "server/program/program.h"

#include <utility>

#include "runtime/protocol/program_recipe.h"
#include "server/program/build_saver.h"
#include "server/program/printf_search.h"

namespace remotecl::server {

bool ArgumentTraits::takes(ArgumentKind given) const {
  switch (given) {
    case ArgumentKind::kOther:
      return false;
    case ArgumentKind::kSvm:
      return kind == ArgumentKind::kMemory;
    case ArgumentKind::kImage:
    case ArgumentKind::kSampler:
      return kind == given || may_be_opaque;
    default:
      return kind == given;
  }
}

namespace {

constexpr std::uint64_t kNativeSize = 64u << 10;  // estimate for a native program

std::uint64_t size_of(const ProgramTraits& traits) {
  std::uint64_t size = 0;
  for (const auto& [name, kernel] : traits) {
    size += name.size() + sizeof(ProgramTraits::value_type) + kernel.arguments.size() * sizeof(ArgumentTraits);
  }
  return size;
}

}  // namespace

Program::Program(ProgramOrigin origin, const Ref<SessionCounters>& counters)
    : origin_(origin), held_(counters, sizeof(Program)), held_native_(counters) {}

Program::~Program() {
  for (const auto& [device, native] : native_) {
    if (native.program != nullptr) clReleaseProgram(native.program);
  }
}

void Program::keep(std::string& code, Bytes bytes) {
  held_.resize(held_.size() + bytes.size() - code.size());
  code = as_text(bytes);
  if (origin_ == ProgramOrigin::kBinaries && is_recipe(bytes)) return;  // what it says is looked at when it is made
  look_for_prints(code);
  if (origin_ == ProgramOrigin::kIl && &code == &code_ && spirv_may_print(code)) note_prints();
}

void Program::set_code(Bytes code) { keep(code_, code); }

void Program::set_code(const Device& device, Bytes code) { keep(codes_[&device], code); }

Bytes Program::code(const Device& device) const {
  const auto own = codes_.find(&device);
  return own == codes_.end() ? Bytes() : as_bytes(own->second);
}

cl_int Program::specialize(Device& device, std::uint32_t constant, Bytes value) {
  if (origin_ != ProgramOrigin::kIl || device.traits().version < 22) return CL_INVALID_OPERATION;
  cl_program program = nullptr;
  cl_int error = make(device, program);
  if (error == CL_SUCCESS) error = clSetProgramSpecializationConstant(program, constant, value.size(), value.data());
  if (program != nullptr) clReleaseProgram(program);
  if (error == CL_SUCCESS) set_constant(constant, value);
  return error;
}

cl_program Program::make_native(cl_context context, const Device& device, const std::string& code,
                                cl_int& error) const {
  const auto own = codes_.find(&device);
  const cl_device_id id = device.id();
  switch (origin_) {
    case ProgramOrigin::kSource: {
      // PoCL ends the process on an empty source.
      const std::string_view source = code.empty() ? std::string_view("\n") : std::string_view(code);
      const char* text = source.data();
      const std::size_t size = source.size();
      return clCreateProgramWithSource(context, 1, &text, &size, &error);
    }
    case ProgramOrigin::kIl: {
      const auto create = device.traits().version >= 21
                              ? &clCreateProgramWithIL
                              : device.extension<clCreateProgramWithILKHR_fn>("clCreateProgramWithILKHR");
      if (create == nullptr) break;
      const cl_program program = create(context, code.data(), code.size(), &error);
      for (const auto& [constant, value] : constants_) {
        if (error != CL_SUCCESS) break;
        error = clSetProgramSpecializationConstant(program, constant, value.size(), value.data());
      }
      return program;
    }
    case ProgramOrigin::kBinaries: {
      error = CL_INVALID_BINARY;
      if (own == codes_.end()) return nullptr;
      const auto* bytes = reinterpret_cast<const unsigned char*>(own->second.data());
      const std::size_t size = own->second.size();
      cl_int status = CL_SUCCESS;
      const cl_program program = clCreateProgramWithBinary(context, 1, &id, &size, &bytes, &status, &error);
      if (error == CL_SUCCESS) error = status;
      return program;
    }
    case ProgramOrigin::kBuiltInKernels:
      error = CL_INVALID_VALUE;
      if (own == codes_.end()) return nullptr;
      return clCreateProgramWithBuiltInKernels(context, 1, &id, own->second.c_str(), &error);
    case ProgramOrigin::kLink:
      break;
  }
  error = CL_INVALID_OPERATION;
  return nullptr;
}

cl_int Program::make(Device& device, cl_program& program, const std::optional<std::string>& source) const {
  cl_int error = CL_SUCCESS;
  program = nullptr;
  const cl_context context = device.context(error);
  if (context == nullptr) return error;
  program = make_native(context, device, source ? *source : code_, error);
  if (error != CL_SUCCESS && program != nullptr) clReleaseProgram(std::exchange(program, nullptr));
  return error;
}

void Program::look_for_prints(std::string_view text) {
  if (prints()) return;
  if (origin_ != ProgramOrigin::kSource) {
    if (mentions_printf(text)) note_prints();
  } else if (source_may_print(text)) {
    may_print_.store(true, std::memory_order_relaxed);
  }
}

void Program::take_prints(const Program& part) {
  if (part.prints()) note_prints();
  if (part.may_print()) may_print_.store(true, std::memory_order_relaxed);
}

void Program::set_native(const Device& device, cl_program program, bool executable, ProgramTraits traits,
                         std::shared_ptr<UnusedKernels> unused, std::optional<NativePart> part) {
  Native& native = native_[&device];
  if (native.program != nullptr) clReleaseProgram(native.program);
  native = {program, executable, std::move(traits), std::move(unused), std::move(part)};
  std::uint64_t size = 0;
  for (const auto& [each, of_device] : native_) {
    size += kNativeSize + size_of(of_device.traits) + (of_device.part ? of_device.part->binary.size() : 0);
  }
  held_native_.resize(size);
}

cl_program Program::native(const Device& device) const {
  const auto native = native_.find(&device);
  return native == native_.end() ? nullptr : native->second.program;
}

const NativePart* Program::part(const Device& device) const {
  const auto native = native_.find(&device);
  return native == native_.end() || !native->second.part ? nullptr : &*native->second.part;
}

cl_program Program::executable(const Device& device) const {
  const auto native = native_.find(&device);
  return native == native_.end() || !native->second.executable ? nullptr : native->second.program;
}

void Program::note_use(const Device& device, const std::string& kernel) const {
  const auto native = native_.find(&device);
  if (native != native_.end() && native->second.unused != nullptr) native->second.unused->use(kernel);
}

KernelTraits Program::kernel_traits(const Device& device, const std::string& kernel) const {
  const auto native = native_.find(&device);
  if (native == native_.end()) return {};
  const auto traits = native->second.traits.find(kernel);
  return traits == native->second.traits.end() ? KernelTraits() : traits->second;
}

}  // namespace remotecl::server
