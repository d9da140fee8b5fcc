#include <optional>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "server/handlers/handlers.h"
#include "server/program/foreign_files.h"
#include "server/program/program_builder.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {

void handle(Session& session, const CreateProgramWithSource& message) {
  session.objects().add_program(message.program, ProgramOrigin::kSource)->set_code(message.source);
}

void handle(Session& session, const CreateProgramWithIL& message) {
  session.objects().add_program(message.program, ProgramOrigin::kIl)->set_code(message.il);
}

void handle(Session& session, const CreateProgramWithBinary& message) {
  session.objects()
      .add_program(message.program, ProgramOrigin::kBinaries)
      ->set_code(session.objects().device(message.device), message.binary);
}

void handle(Session& session, const CreateProgramWithBuiltInKernels& message) {
  const auto program = session.objects().add_program(message.program, ProgramOrigin::kBuiltInKernels);
  message.kernels.for_each([&](const BuiltInKernels& kernels) {
    program->set_code(session.objects().device(kernels.device), as_bytes(kernels.names));
  });
}

void handle(Session& session, const ReleaseProgram& message) { session.objects().programs.take(message.program); }

ProgramWork work_of(Session& session, const CompileProgram& message) {
  ProgramWork work{session.objects().program(message.program), {}};
  message.included.for_each(
      [&](const IncludedProgram& included) { work.others.push_back(session.objects().program(included.program)); });
  return work;
}

ProgramWork work_of(Session& session, const LinkProgram& message) {
  std::vector<Ref<Program>> inputs;
  for (std::size_t i = 0; i < message.inputs.size(); ++i)
    inputs.push_back(session.objects().program(message.inputs[i]));
  return {session.objects().add_program(message.program, ProgramOrigin::kLink), std::move(inputs)};
}

void work(Session& session, const AddProgramBinary& message, const ProgramWork& work) {
  if (work.program->origin() != ProgramOrigin::kBinaries)
    throw ProtocolError("a binary for a program without binaries");
  work.program->set_code(session.objects().device(message.device), message.binary);
}

void work(Session& session, const SpecializeProgram& message, const ProgramWork& work) {
  const cl_int error =
      work.program->specialize(session.objects().device(message.device), message.constant, message.value);
  session.outbox().send(NativeAnswer{message.token, error, 0, {}});
}

namespace {

// Abandons the work of a session that is over.
void stop_if_over(const Session& session) {
  if (session.lifetime().over_since()) throw std::runtime_error("the session is over");
}

struct Objection {
  cl_int error;
  std::string words;
};

// Why a build may not run: it would read files of this machine. `errors`: the codes for a bad option and a
// bad source.
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

template <class Build>
void build_each(Session& session, const Array<std::uint32_t>& devices, Token token, Program& program, Build&& build) {
  // Looks up all devices before it builds anything. Each device is built for once, because a log costs more
  // than a name.
  std::vector<Device*> different;
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (seen.insert(devices[i]).second) different.push_back(&session.objects().device(devices[i]));
  }
  BuildReport report;
  std::vector<std::pair<Device*, cl_program>> built;
  try {
    for (Device* on : different) {
      stop_if_over(session);
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
    MutexLock lock(session.mutex());
    for (std::size_t i = 0; i < built.size(); ++i) {
      program.set_native(*built[i].first, built[i].second, report.executable(i), report.traits(i), report.unused(i));
    }
  }
  report.send(session.outbox(), token);
}

// Places the client's files where the compiler finds them. The build fails if they cannot be written.
template <class Message, class Build>
void with_files(Session& session, const Message& message, Program& program, Build&& build) {
  std::optional<PlacedFiles> files;
  std::string trouble;
  try {
    files.emplace(session.shared().files.place({message.options, message.include_folders, message.headers}));
  } catch (const std::system_error& error) {
    trouble =
        std::string("remotecl: the server could not write the program's headers to its temporary folder (TMPDIR): ") +
        error.code().message();
    log_warning("{}", error.what());
  }
  build_each(session, message.devices, message.token, program, [&](BuildReport& report, Device& on) {
    return files ? build(*files, report, on) : report.refuse(on, CL_OUT_OF_RESOURCES, trouble);
  });
}

}  // namespace

void work(Session& session, const InspectProgram& message, const ProgramWork& work) {
  build_each(session, message.devices, message.token, *work.program,
             [&](BuildReport& report, Device& on) { return report.inspect(*work.program, on); });
}

void work(Session& session, const BuildProgram& message, const ProgramWork& work) {
  work.program->look_for_prints(message.options);
  message.headers.for_each([&](const HeaderFile& header) { work.program->look_for_prints(as_text(header.content)); });
  const ClientFiles sent{message.options, message.include_folders, message.headers};
  if (const auto objection =
          objection_to(*work.program, {}, sent, {CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE})) {
    return build_each(session, message.devices, message.token, *work.program, refusal(*objection));
  }
  const std::string key = BuildCache::key(*work.program, message);
  const StoredRequest stored{sent, "direct " + session.grant().user().name()};
  with_files(session, message, *work.program, [&](const PlacedFiles& files, BuildReport& report, Device& on) {
    return report.build(*work.program, on, files, session.shared().built, key, &stored);
  });
}

void work(Session& session, const CompileProgram& message, const ProgramWork& work) {
  work.program->look_for_prints(message.options);
  message.headers.for_each([&](const HeaderFile& header) { work.program->look_for_prints(as_text(header.content)); });
  for (const Ref<Program>& included : work.others) work.program->take_prints(*included);
  const ClientFiles sent{message.options, message.include_folders, message.headers};
  if (const auto objection =
          objection_to(*work.program, work.others, sent, {CL_INVALID_COMPILER_OPTIONS, CL_COMPILE_PROGRAM_FAILURE})) {
    return build_each(session, message.devices, message.token, *work.program, refusal(*objection));
  }
  std::vector<IncludedSource> included;
  message.included.for_each([&](const IncludedProgram& source) {
    included.push_back({work.others[included.size()], std::string(source.name)});
  });
  with_files(session, message, *work.program, [&](const PlacedFiles& files, BuildReport& report, Device& on) {
    return report.compile(*work.program, on, files, included);
  });
}

void work(Session& session, const LinkProgram& message, const ProgramWork& work) {
  for (const Ref<Program>& input : work.others) work.program->take_prints(*input);
  if (const Objection objection{CL_INVALID_LINKER_OPTIONS, foreign_option(message.options)}; !objection.words.empty()) {
    return build_each(session, message.devices, message.token, *work.program, refusal(objection));
  }
  build_each(session, message.devices, message.token, *work.program, [&](BuildReport& report, Device& on) {
    const FileLock alone = on.traits().quirks.links_disturb_each_other
                               ? session.shared().files.lock_links([&session] { stop_if_over(session); })
                               : FileLock();
    std::vector<cl_program> inputs;
    {
      MutexLock lock(session.mutex());
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

void work(Session& session, const GetProgramBinary& message, const ProgramWork& work) {
  cl_program native = nullptr;
  {
    MutexLock lock(session.mutex());
    native = work.program->native(session.objects().device(message.device));
    if (native != nullptr) clRetainProgram(native);
  }
  std::vector<std::byte> binary;
  cl_int error = CL_INVALID_PROGRAM_EXECUTABLE;
  if (native != nullptr) {
    error = session.shared().built.read_binary(native, binary);
    clReleaseProgram(native);
  }
  session.outbox().send(ProgramBinary{message.token, error, binary});
}

}  // namespace remotecl::server
