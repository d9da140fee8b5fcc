#include "server/build.h"
#include "server/protocol_error.h"
#include "server/session.h"

namespace remotecl::server {

void Session::add_program(ObjectId id, Ref<Program> program) {
  constexpr std::uint64_t kSessionMax = std::uint64_t{1} << 30;
  if (*program_bytes_ > kSessionMax) throw ProtocolError("more than 1 GiB of program sources and binaries");
  if (!programs_.insert(id, std::move(program))) {
    throw ProtocolError("program id " + std::to_string(id) + " cannot be used or is in use");
  }
}

void Session::handle(const CreateProgramWithSource& message) {
  add_program(message.program, make_ref<Program>(message.source, nullptr, program_bytes_));
}

void Session::handle(const CreateProgramWithBinary& message) {
  add_program(message.program, make_ref<Program>(message.binary, &device(message.device), program_bytes_));
}

void Session::handle(const ReleaseProgram& message) { programs_.take(message.program); }

void Session::work(const BuildProgram& message, Program& program) {
  program.look_for_prints(message.options);
  message.headers.for_each([&](const HeaderFile& header) { program.look_for_prints(as_text(header.content)); });
  BuildReport report;
  std::vector<std::pair<Device*, cl_program>> built;
  const auto folder = shared_.files.place(message);
  for (std::size_t i = 0; i < message.devices.size(); ++i) {
    Device& on = device(message.devices[i]);
    built.emplace_back(&on, report.build(program, on, folder));
  }
  {
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < built.size(); ++i) {
      program.set_built(*built[i].first, built[i].second, report.succeeded(i));
    }
  }
  report.send(outbox_, message.token);
}

void Session::work(const GetProgramBinary& message, Program& program) {
  cl_program native = nullptr;
  {
    MutexLock lock(mutex_);
    native = program.native(device(message.device));
    if (native != nullptr) clRetainProgram(native);
  }
  std::vector<std::byte> binary;
  cl_int error = CL_INVALID_PROGRAM_EXECUTABLE;
  if (native != nullptr) {
    error = read_binary(native, binary);
    clReleaseProgram(native);
  }
  outbox_.send(ProgramBinary{message.token, error, binary});
}

}  // namespace remotecl::server
