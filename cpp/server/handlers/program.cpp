#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "runtime/protocol/program_recipe.h"
#include "server/handlers/build_lane.h"
#include "server/handlers/handlers.h"
#include "server/handlers/program_recipe.h"
#include "server/handlers/ready_build.h"
#include "server/program/program_builder.h"
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
    program->set_code(session.device(kernels.device), as_bytes(kernels.names));
  });
}

void handle(Session& session, const ReleaseProgram& message) { session.objects().programs.take(message.program); }

ProgramWork work_of(Session& session, const CompileProgram& message) {
  ProgramWork work{session.objects().program(message.program), {}};
  message.included.for_each([&](const IncludedProgram& included) {
    session_lock.assume_held();
    work.others.push_back(session.objects().program(included.program));
  });
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
  work.program->set_code(session.device(message.device), message.binary);
}

void work(Session& session, const SpecializeProgram& message, const ProgramWork& work) {
  const cl_int error = work.program->specialize(session.device(message.device), message.constant, message.value);
  session.outbox().send(NativeAnswer{message.token, error, 0, {}});
}

namespace {

auto refusal(const BuildObjection& objection) {
  return [&objection](BuildReport& report, const Device& on) -> cl_program {
    return report.refuse(on, objection.error, objection.words);
  };
}

template <class Build>
void build_each(Session& session, const Array<std::uint32_t>& devices, Token token, const Ref<Program>& program,
                Build&& build) {
  // Looks up all devices before it builds anything. Builds once for a device that is named several times,
  // because a log costs more than a name. `build` is called by several threads.
  std::vector<Device*> different;
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (seen.insert(devices[i]).second) different.push_back(&session.device(devices[i]));
  }
  BuildLane built = build_in_lanes(different, [&](BuildReport& report, Device& on) {
    stop_if_over(session);
    return build(report, on);
  });
  BuildReport& report = built.report;
  if (report.prints()) program->note_prints();
  {
    MutexLock lock(session.mutex());
    for (std::size_t i = 0; i < built.devices.size(); ++i) {
      Device& on = *built.devices[i];
      program->set_native(on, built.natives[i].detach(), report.executable(i), report.traits(i), report.unused(i),
                          std::move(report.part(i)));
    }
  }
  report.send(session.outbox(), token);
}

}  // namespace

void work(Session& session, const InspectProgram& message, const ProgramWork& work) {
  build_each(session, message.devices, message.token, work.program, [&](BuildReport& report, Device& on) {
    if (is_recipe(work.program->code(on))) return inspect_recipe(session, report, on, *work.program);
    return report.inspect(*work.program, on, *session.shared().built.stored());
  });
}

void work(Session& session, const BuildProgram& message, const ProgramWork& work) {
  const ReadyBuild ready(session, {message.options, message.include_folders, message.headers}, {work.program},
                         CL_INVALID_BUILD_OPTIONS, CL_BUILD_PROGRAM_FAILURE);
  if (const auto& objection = ready.objection()) {
    return build_each(session, message.devices, message.token, work.program, refusal(*objection));
  }
  const std::string key = BuildCache::key(*work.program, {message.options, message.include_folders, message.headers});
  const StoredRequest stored{ready.sent(), session.stored_owner()};
  build_each(session, message.devices, message.token, work.program, [&](BuildReport& report, Device& on) {
    if (is_recipe(work.program->code(on))) return build_recipe(session, report, on, *work.program);
    return report.build(*work.program, on, *ready.files(), session.shared().built, key, &stored);
  });
}

void work(Session& session, const CompileProgram& message, const ProgramWork& work) {
  for (const Ref<Program>& included : work.others) work.program->take_prints(*included);
  std::vector<Ref<Program>> parts{work.program};
  parts.insert(parts.end(), work.others.begin(), work.others.end());
  const ReadyBuild ready(session, {message.options, message.include_folders, message.headers}, parts,
                         CL_INVALID_COMPILER_OPTIONS, CL_COMPILE_PROGRAM_FAILURE);
  if (const auto& objection = ready.objection()) {
    return build_each(session, message.devices, message.token, work.program, refusal(*objection));
  }
  std::vector<std::string> names;
  message.included.for_each([&names](const IncludedProgram& source) { names.emplace_back(source.name); });
  const std::vector<IncludedSource> included = ready.included(names);
  const StoredRequest stored{ready.sent(), session.stored_owner()};
  build_each(session, message.devices, message.token, work.program, [&](BuildReport& report, Device& on) {
    return report.compile(*work.program, on, *ready.files(), included, *session.shared().built.stored(), stored);
  });
}

void work(Session& session, const LinkProgram& message, const ProgramWork& work) {
  for (const Ref<Program>& input : work.others) work.program->take_prints(*input);
  if (const auto objection = objection_to_link(message.options)) {
    return build_each(session, message.devices, message.token, work.program, refusal(*objection));
  }
  build_each(session, message.devices, message.token, work.program, [&](BuildReport& report, Device& on) {
    std::vector<LinkInput> inputs;
    {
      MutexLock lock(session.mutex());
      for (const Ref<Program>& input : work.others) {
        const NativePart* const part = input->part(on);
        inputs.push_back({Native<cl_program>::retained(input->native(on)),
                          part != nullptr ? std::optional(part->key) : std::nullopt});
      }
    }
    return link_with(session, report, on, message.options, inputs);
  });
}

void work(Session& session, const GetProgramBinary& message, const ProgramWork& work) {
  Native<cl_program> native;
  std::vector<std::byte> binary;
  {
    MutexLock lock(session.mutex());
    const Device& device = session.objects().device(message.device);
    native = Native<cl_program>::retained(work.program->native(device));
    if (const NativePart* const part = work.program->part(device)) binary = part->binary;
  }
  cl_int error = native ? CL_SUCCESS : CL_INVALID_PROGRAM_EXECUTABLE;
  if (native && binary.empty()) error = session.shared().built.read_binary(native.get(), binary);
  session.outbox().send(ProgramBinary{message.token, error, binary});
}

}  // namespace remotecl::server
