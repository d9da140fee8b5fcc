#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "server/program/build.h"
#include "server/program/foreign_files.h"
#include "server/session/session.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

Ref<Program> Session::add_program(ObjectId id, ProgramOrigin origin) {
  auto program = make_ref<Program>(origin, counters_);
  if (!programs_.insert(id, program)) {
    throw ProtocolError("program id " + std::to_string(id) + " cannot be used or is in use");
  }
  return program;
}

void Session::handle(const CreateProgramWithSource& message) {
  add_program(message.program, ProgramOrigin::kSource)->set_code(message.source);
}

void Session::handle(const CreateProgramWithIL& message) {
  add_program(message.program, ProgramOrigin::kIl)->set_code(message.il);
}

void Session::handle(const CreateProgramWithBinary& message) {
  add_program(message.program, ProgramOrigin::kBinaries)->set_code(device(message.device), message.binary);
}

void Session::handle(const CreateProgramWithBuiltInKernels& message) {
  const auto program = add_program(message.program, ProgramOrigin::kBuiltInKernels);
  message.kernels.for_each(
      [&](const BuiltInKernels& kernels) { program->set_code(device(kernels.device), as_bytes(kernels.names)); });
}

void Session::handle(const ReleaseProgram& message) { programs_.take(message.program); }

Ref<Program> Session::existing_program(ObjectId id) {
  Ref<Program> program(programs_.find(id));
  if (!program) throw ProtocolError("program " + std::to_string(id) + " does not exist");
  return program;
}

// What a message for the worker names is looked up when it is received: it may be released before the worker comes to
// it.
ProgramWork Session::work_of(const CompileProgram& message) {
  ProgramWork work{existing_program(message.program), {}};
  message.included.for_each(
      [&](const IncludedProgram& included) { work.others.push_back(existing_program(included.program)); });
  return work;
}

ProgramWork Session::work_of(const LinkProgram& message) {
  std::vector<Ref<Program>> inputs;
  for (std::size_t i = 0; i < message.inputs.size(); ++i) inputs.push_back(existing_program(message.inputs[i]));
  return {add_program(message.program, ProgramOrigin::kLink), std::move(inputs)};
}

void Session::work(const AddProgramBinary& message, const ProgramWork& work) {
  if (work.program->origin() != ProgramOrigin::kBinaries)
    throw ProtocolError("a binary for a program without binaries");
  work.program->set_code(device(message.device), message.binary);
}

void Session::work(const SpecializeProgram& message, const ProgramWork& work) {
  const cl_int error = work.program->specialize(device(message.device), message.constant, message.value);
  outbox_.send(NativeAnswer{message.token, error, 0, {}});
}

// Nobody waits for what the worker is doing.
void Session::stop_if_over() const {
  if (over_since()) throw std::runtime_error("the session is over");
}

namespace {

struct Objection {
  cl_int error;
  std::string words;
};

// To what a build would read of this machine. `errors`: for its options, and for its sources.
std::optional<Objection> objection_to(const Program& program, const std::vector<Ref<Program>>& included,
                                      const ClientFiles& files, std::pair<cl_int, cl_int> errors) {
  if (std::string words = foreign_option(files.options); !words.empty()) return Objection{errors.first, words};
  std::string words;
  const auto look_at = [&](std::string_view source) {
    if (words.empty()) words = foreign_include(source, files);
  };
  if (program.origin() == ProgramOrigin::kSource) look_at(program.code());
  for (const Ref<Program>& part : included) {
    if (part->origin() == ProgramOrigin::kSource) look_at(part->code());
  }
  files.headers.for_each([&](const HeaderFile& header) { look_at(as_text(header.content)); });
  return words.empty() ? std::nullopt : std::optional(Objection{errors.second, words});
}

auto refusal(const Objection& objection) {
  return [&objection](BuildReport& report, const Device& on) -> cl_program {
    return report.refuse(on, objection.error, objection.words);
  };
}

}  // namespace

template <class Build>
void Session::build_each(const Array<std::uint32_t>& devices, Token token, Program& program, Build&& build) {
  // All must exist before anything is built, and each is built for once: a log costs more than a name.
  std::vector<Device*> different;
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (seen.insert(devices[i]).second) different.push_back(&device(devices[i]));
  }
  BuildReport report;
  std::vector<std::pair<Device*, cl_program>> built;
  try {
    for (Device* on : different) {
      stop_if_over();
      built.emplace_back(on, build(report, *on));
    }
  } catch (...) {
    for (const auto& [on, native] : built) {
      if (native != nullptr) clReleaseProgram(native);
    }
    throw;
  }
  if (report.prints()) program.note_prints();
  {
    MutexLock lock(mutex_);
    for (std::size_t i = 0; i < built.size(); ++i) {
      program.set_native(*built[i].first, built[i].second, report.executable(i), report.traits(i));
    }
  }
  report.send(outbox_, token);
}

// With the client's files where the compiler finds them; where they cannot be written, the build fails.
template <class Message, class Build>
void Session::with_files(const Message& message, Program& program, Build&& build) {
  std::optional<PlacedFiles> files;
  std::string trouble;
  try {
    files.emplace(shared_.files.place({message.options, message.include_folders, message.headers}));
  } catch (const std::system_error& error) {
    trouble =
        std::string("remotecl: the server could not write the program's headers to its temporary folder (TMPDIR): ") +
        error.code().message();
    log_warning("{}", error.what());
  }
  build_each(message.devices, message.token, program, [&](BuildReport& report, Device& on) {
    return files ? build(*files, report, on) : report.refuse(on, CL_OUT_OF_RESOURCES, trouble);
  });
}

void Session::work(const InspectProgram& message, const ProgramWork& work) {
  build_each(message.devices, message.token, *work.program,
             [&](BuildReport& report, Device& on) { return report.inspect(*work.program, on); });
}

void Session::work(const BuildProgram& message, const ProgramWork& work) {
  work.program->look_for_prints(message.options);
  message.headers.for_each([&](const HeaderFile& header) { work.program->look_for_prints(as_text(header.content)); });
  const ClientFiles sent{message.options, message.include_folders, message.headers};
  if (const auto objection =
          objection_to(*work.program, {}, sent, {CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE})) {
    return build_each(message.devices, message.token, *work.program, refusal(*objection));
  }
  const std::string key = BuiltPrograms::key(*work.program, message);
  with_files(message, *work.program, [&](const PlacedFiles& files, BuildReport& report, Device& on) {
    return report.build(*work.program, on, files, shared_.built, key);
  });
}

void Session::work(const CompileProgram& message, const ProgramWork& work) {
  work.program->look_for_prints(message.options);
  message.headers.for_each([&](const HeaderFile& header) { work.program->look_for_prints(as_text(header.content)); });
  for (const Ref<Program>& included : work.others) work.program->take_prints(*included);
  const ClientFiles sent{message.options, message.include_folders, message.headers};
  if (const auto objection =
          objection_to(*work.program, work.others, sent, {CL_INVALID_COMPILER_OPTIONS, CL_COMPILE_PROGRAM_FAILURE})) {
    return build_each(message.devices, message.token, *work.program, refusal(*objection));
  }
  std::vector<IncludedSource> included;
  message.included.for_each([&](const IncludedProgram& source) {
    included.push_back({work.others[included.size()], std::string(source.name)});
  });
  with_files(message, *work.program, [&](const PlacedFiles& files, BuildReport& report, Device& on) {
    return report.compile(*work.program, on, files, included);
  });
}

void Session::work(const LinkProgram& message, const ProgramWork& work) {
  for (const Ref<Program>& input : work.others) work.program->take_prints(*input);
  if (const Objection objection{CL_INVALID_LINKER_OPTIONS, foreign_option(message.options)}; !objection.words.empty()) {
    return build_each(message.devices, message.token, *work.program, refusal(objection));
  }
  build_each(message.devices, message.token, *work.program, [&](BuildReport& report, Device& on) {
    const FileLock alone =
        on.links_disturb_each_other() ? shared_.files.lock_links([this] { stop_if_over(); }) : FileLock();
    std::vector<cl_program> inputs;
    {
      MutexLock lock(mutex_);
      for (const Ref<Program>& input : work.others) {
        inputs.push_back(input->native(on));
        if (inputs.back() != nullptr) clRetainProgram(inputs.back());
      }
    }
    const cl_program linked = report.link(on, std::string(message.options), inputs);
    for (const cl_program input : inputs) {
      if (input != nullptr) clReleaseProgram(input);
    }
    return linked;
  });
}

void Session::work(const GetProgramBinary& message, const ProgramWork& work) {
  cl_program native = nullptr;
  {
    MutexLock lock(mutex_);
    native = work.program->native(device(message.device));
    if (native != nullptr) clRetainProgram(native);
  }
  std::vector<std::byte> binary;
  cl_int error = CL_INVALID_PROGRAM_EXECUTABLE;
  if (native != nullptr) {
    error = shared_.built.read_binary(native, binary);
    clReleaseProgram(native);
  }
  outbox_.send(ProgramBinary{message.token, error, binary});
}

}  // namespace remotecl::server
