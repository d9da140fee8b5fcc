// Builds, compilations and links: one message to each server, and its answer.
#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>

#include "runtime/client/program/binary_container.h"
#include "runtime/client/program/include_files.h"
#include "runtime/client/program/program.h"
#include "runtime/client/session/operations.h"
#include "runtime/client/session/session.h"
#include "runtime/client/support/callback_thread.h"
#include "runtime/client/support/ids.h"
#include "runtime/protocol/device_figures.h"

namespace remotecl {
namespace {

ArgumentInfo argument_info(const ArgumentDescription& from) {
  return {from.kind,           may_be_opaque(from),         from.size,
          from.info_status,    from.address_qualifier,      from.access_qualifier,
          from.type_qualifier, std::string(from.type_name), std::string(from.name)};
}

KernelInfo kernel_info(const KernelDescription& from) {
  KernelInfo info;
  info.name = from.name;
  info.attributes = from.attributes;
  info.work_group_size = from.work_group_size;
  std::copy(from.compile_work_group_size.begin(), from.compile_work_group_size.end(),
            info.compile_work_group_size.begin());
  info.local_memory_size = from.local_memory_size;
  info.preferred_multiple = from.preferred_multiple;
  info.private_memory_size = from.private_memory_size;
  from.arguments.for_each(
      [&info](const ArgumentDescription& argument) { info.arguments.push_back(argument_info(argument)); });
  return info;
}

// The part of a message about this machine's files. Refers to `files`, which must outlive it.
struct EncodedFiles {
  explicit EncodedFiles(const IncludeFiles& files) {
    for (const std::string& folder : files.folders) folders.push_back({folder});
    for (const IncludeFiles::File& file : files.files) headers.push_back({file.path, as_bytes(file.content)});
  }
  std::vector<IncludeFolder> folders;
  std::vector<HeaderFile> headers;
};

// Why the message of a build cannot be sent: the server would end the session.
template <class Message>
std::string objection_to(const Message& message) {
  const std::size_t size = wire::encoded_size(message);
  if (size <= kProgramSizeMax) return {};
  return "remotecl: the headers and options of this build are " + std::to_string(size) + " bytes, more than the " +
         std::to_string(kProgramSizeMax) +
         " that can be sent to a server; include fewer files, and give large tables to kernels in buffers";
}

bool has_option(const std::string& options, const char* option) { return options.find(option) != std::string::npos; }

}  // namespace

// Programs that are made for one of them work on the other, so far as a client can know.
bool Program::are_alike(const Device& one, const Device& other) {
  if (one.parent() != nullptr || other.parent() != nullptr) return false;
  return kind_of(one) == kind_of(other);
}

// A call in progress. The last server to answer completes it.
struct Program::Progress {
  std::size_t servers_left;  // requires mutex_
  const Build build;
  Operations::Running running;
};

template <class Send>
cl_int Program::run(Build build, Send&& send) {
  std::map<Session*, std::vector<Device*>> servers;
  for (Device* device : build.devices) servers[&device->session()].push_back(device);
  {
    const MutexLock lock(mutex_);
    // "CL_INVALID_OPERATION if the build of a program executable for any of the devices listed in device_list by a
    // previous call ... has not completed", "if there are kernel objects attached to program."
    if (!build.is_late && (building_ != 0 || attached_kernels() != 0)) return CL_INVALID_OPERATION;
    for (Device* device : build.devices) {
      DeviceBuildInfo& info = builds_[device] = {};
      info.status = build.objection.empty() ? CL_BUILD_IN_PROGRESS : CL_BUILD_ERROR;
      info.options = build.options;
      info.log = build.objection;
      info.allows_remainder = build.allows_remainder;
      if (const auto at = build.recipes.find(device); at != build.recipes.end()) info.binary = at->second;
    }
    if (!build.objection.empty()) return CL_OUT_OF_RESOURCES;
    ++building_;
  }
  const bool calls_back = build.notify.callback != nullptr;
  std::string where;
  for (const auto& [session, of_session] : servers) where += (where.empty() ? "" : ", ") + session->address().text();
  const std::shared_ptr<Progress> progress(
      new Progress{servers.size(),
                   std::move(build),
                   {context().group().operations, Operation::Kind::kBuild, where, servers.size()}});
  for (auto& [session, of_session] : servers) {
    std::vector<std::uint32_t> indices;
    for (Device* device : of_session) indices.push_back(device->index());
    if (calls_back) session->add_interest();
    const Token token = session->expect_reply([this, keep = Ref<Program>(this), progress, session = session,
                                               of_session = of_session](std::uint16_t, const Bytes* payload) {
      bool last = false;
      {
        const MutexLock lock(mutex_);
        store(*session, of_session, payload);
        last = --progress->servers_left == 0;
        progress->running.advance();
        if (last) --building_;
      }
      const Notify notify = progress->build.notify;
      if (notify.callback == nullptr) return;
      session->drop_interest();
      if (last) {
        post_callback([keep, notify] { notify.callback(keep->handle(), notify.user_data); });
      }
    });
    send(*session, token, Array<std::uint32_t>(std::span<const std::uint32_t>(indices)));
    session->flush();
  }
  if (calls_back) return CL_SUCCESS;
  for (auto& [session, of_session] : servers) {
    session->wait([this, &of_session = of_session] {
      const MutexLock lock(mutex_);
      for (Device* const device : of_session) {
        if (builds_[device].status == CL_BUILD_IN_PROGRESS) return false;
      }
      return true;
    });
  }
  return result_of(progress->build);
}

// Before OpenCL C 2.0, which is never the default, all work-groups have the same size. A binary may have been
// built with any version.
bool Program::allows_remainder_by(const std::string& options) const {
  if (has_option(options, "-cl-uniform-work-group-size")) return false;
  return code_.origin != ProgramOrigin::kSource || has_option(options, "-cl-std=CL2") ||
         has_option(options, "-cl-std=CL3") || has_option(options, "-cl-std=CLC++");
}

// A server that has left a context harms nobody who goes on with the others.
cl_int Program::result_of(const Build& build) const {
  cl_int failure = CL_SUCCESS;
  bool has_success = false;
  for (Device* device : build.devices) {
    const DeviceBuildInfo info = build_info(*device);
    const cl_int error = info.error == CL_SUCCESS && info.status == CL_BUILD_ERROR ? build.failure : info.error;
    const bool is_lost = error == CL_DEVICE_NOT_AVAILABLE && device->lost();
    if (error != CL_SUCCESS && is_named(device) && !is_lost) return error;
    if (error != CL_SUCCESS && (failure == CL_SUCCESS || !is_lost)) failure = error;
    has_success = has_success || error == CL_SUCCESS;
  }
  return has_success ? CL_SUCCESS : failure;
}

cl_int Program::build(const std::vector<Device*>& devices, const std::string& options, Notify notify) {
  return build_now({built_now(in_place_of(devices), options),
                    options,
                    notify,
                    allows_remainder_by(options),
                    CL_BUILD_PROGRAM_FAILURE,
                    {}});
}

cl_int Program::build_now(Build build) {
  IncludeFiles files;
  try {
    files = find_include_files({source_text()}, build.options);
  } catch (const std::invalid_argument&) {
    return CL_INVALID_BUILD_OPTIONS;
  }
  const EncodedFiles encoded(files);
  BuildProgram message{id_, 0, {}, files.options, std::span(encoded.folders), std::span(encoded.headers)};
  build.objection = objection_to(message);
  build.recipes =
      recipes_of(build.devices,
                 {{}, RecipeKind::kBuild, 0, {}, message.options, message.include_folders, message.headers, {}, {}});
  return run(std::move(build), [&](Session& session, Token token, Array<std::uint32_t> indices) {
    create_on(session);
    message.token = token;
    message.devices = indices;
    session.send(message);
  });
}

cl_int Program::compile(const std::vector<Device*>& devices, const std::string& options, std::vector<Included> included,
                        Notify notify) {
  // The files that an included program includes may also be on this machine.
  std::vector<std::string_view> sources{source_text()};
  std::set<std::string> names;
  std::vector<IncludedProgram> named;
  std::vector<Ref<Program>> uses;
  std::vector<RecipePart> parts;
  for (const Included& other : included) {
    sources.push_back(other.program->source_text());
    names.insert(other.name);
    named.push_back({other.program->id(), other.name});
    uses.push_back(other.program);
    parts.push_back({other.name, as_bytes(other.program->source_text())});
  }
  IncludeFiles files;
  try {
    files = find_include_files(sources, options, names);
  } catch (const std::invalid_argument&) {
    return CL_INVALID_COMPILER_OPTIONS;
  }
  const EncodedFiles encoded(files);
  CompileProgram message{id_,
                         0,
                         {},
                         files.options,
                         std::span(encoded.folders),
                         std::span(encoded.headers),
                         std::span(std::as_const(named))};
  const std::vector<Device*> all = in_place_of(devices);
  Recipes recipes = recipes_of(all, {{},
                                     RecipeKind::kCompile,
                                     0,
                                     {},
                                     message.options,
                                     message.include_folders,
                                     message.headers,
                                     {},
                                     std::span<const RecipePart>(parts)});
  return run({all, options, notify, allows_remainder_by(options), CL_COMPILE_PROGRAM_FAILURE, std::move(uses), false,
              objection_to(message), std::move(recipes)},
             [&](Session& session, Token token, Array<std::uint32_t> indices) {
               create_on(session);
               for (const Included& other : included) other.program->create_on(session);
               message.token = token;
               message.devices = indices;
               session.send(message);
             });
}

// There is none where an input has none, as a native binary of the application's.
Recipes Program::recipes_of_link(const std::vector<Device*>& devices, const std::string& options,
                                 const std::vector<Ref<Program>>& inputs) {
  Recipes recipes;
  for (Device* const device : devices) {
    std::vector<std::shared_ptr<const std::vector<std::byte>>> found;
    std::vector<RecipePart> parts;
    for (const Ref<Program>& input : inputs) {
      if (const auto& recipe = found.emplace_back(input->recipe(*device))) parts.push_back({{}, Bytes(*recipe)});
    }
    if (parts.size() != inputs.size()) continue;
    const RecipeKind kind = has_option(options, "-create-library") ? RecipeKind::kLinkLibrary : RecipeKind::kLink;
    recipes.merge(recipes_for({device}, {{}, kind, 0, {}, options, {}, {}, {}, std::span<const RecipePart>(parts)}));
  }
  return recipes;
}

cl_int Program::link(const std::vector<Device*>& devices, const std::string& options, std::vector<Ref<Program>> inputs,
                     Notify notify) {
  std::vector<ObjectId> ids;
  bool remainder = !has_option(options, "-cl-uniform-work-group-size");
  for (const Ref<Program>& input : inputs) {
    ids.push_back(input->id());
    for (const Device* device : devices) remainder = remainder && input->allows_remainder(*device);
  }
  Recipes recipes = recipes_of_link(devices, options, inputs);
  return run(
      {devices, options, notify, remainder, CL_LINK_PROGRAM_FAILURE, std::move(inputs), false, {}, std::move(recipes)},
      [&](Session& session, Token token, Array<std::uint32_t> indices) {
        const MutexLock lock(mutex_);
        created_on_.add(session.index());
        session.send(LinkProgram{id_, token, indices, options, std::span<const ObjectId>(ids)});
      });
}

cl_int Program::inspect(const std::vector<Device*>& devices) {
  return run({inspected_now(in_place_of(devices)), {}, {}, true, CL_OUT_OF_RESOURCES, {}},
             [&](Session& session, Token token, Array<std::uint32_t> indices) {
               create_on(session);
               session.send(InspectProgram{id_, token, indices});
             });
}

void Program::store(Session& session, const std::vector<Device*>& devices, const Bytes* payload) {
  BuildDone report{};
  if (payload != nullptr) {
    Decoder decoder(*payload);
    decoder.read(report);  // the session has checked it
  }
  std::map<const Device*, DeviceBuildInfo>* const builds = &builds_;  // guarded by the lock that store() requires
  report.builds.for_each([&](const DeviceBuild& from) {
    for (Device* device : devices) {
      if (device->index() != from.device) continue;
      DeviceBuildInfo& to = (*builds)[device];
      to.error = from.error;
      to.status = from.status;
      to.executable = from.executable != 0;
      to.log = from.log;
      to.binary_type = from.binary_type;
      to.global_variables_size = from.global_variables_size;
      if (from.global_variables_size != 0) has_variables_ = true;
      to.has_constructors = from.has_constructors != 0;
      to.has_destructors = from.has_destructors != 0;
      const auto* const facts = contained(*device);
      from.kernels.for_each([&to, facts](const KernelDescription& kernel) {
        KernelInfo& info = to.kernels[std::string(kernel.name)] = remotecl::kernel_info(kernel);
        if (facts == nullptr) return;
        if (const auto at = facts->find(info.name); at != facts->end()) complete(info, at->second);
      });
    }
  });
  for (Device* device : devices) {
    DeviceBuildInfo& build = builds_[device];
    if (build.status != CL_BUILD_IN_PROGRESS) continue;
    build.status = CL_BUILD_ERROR;
    build.error = CL_DEVICE_NOT_AVAILABLE;
    build.log = "remotecl: no answer from " + session.address().text() + ": " + session.lost_reason();
  }
}

}  // namespace remotecl
