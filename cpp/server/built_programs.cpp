#include "server/built_programs.h"

#include <algorithm>
#include <utility>

namespace remotecl::server {
namespace {

// With its size, so that what follows cannot be taken for a part of it.
void add(std::string& key, std::string_view part) {
  key += std::to_string(part.size());
  key += ':';
  key += part;
}

// In these languages a program may have variables that keep their values from one kernel to the next.
bool may_have_variables(std::string_view options) {
  constexpr std::string_view kLanguage = "-cl-std=";
  const auto at = options.find(kLanguage);
  return at != std::string_view::npos && !options.substr(at + kLanguage.size()).starts_with("CL1");
}

}  // namespace

BuiltPrograms::~BuiltPrograms() {
  for (const Built& built : built_) clReleaseProgram(built.program);
}

// What is included and was not sent may be a file of this machine, which may change.
std::string BuiltPrograms::key(const Program& program, const BuildProgram& message) {
  if (program.origin() != ProgramOrigin::kSource || may_have_variables(message.options)) return {};
  if (message.headers.empty() && program.code().find("include") != std::string::npos) return {};
  std::string key;
  add(key, program.code());
  add(key, message.options);
  add(key, std::to_string(message.include_folders.size()));
  message.include_folders.for_each([&key](const IncludeFolder& folder) { add(key, folder.path); });
  message.headers.for_each([&key](const HeaderFile& header) {
    add(key, header.path);
    add(key, as_text(header.content));
  });
  return key.size() <= kKeySizeMax ? key : std::string();
}

std::list<BuiltPrograms::Built>::iterator BuiltPrograms::look(const Device& device, const std::string& key) {
  return std::find_if(built_.begin(), built_.end(),
                      [&](const Built& built) { return built.device == &device && built.key == key; });
}

cl_program BuiltPrograms::find(const Device& device, const std::string& key, BuildRecord& record) {
  MutexLock lock(mutex_);
  const auto at = look(device, key);
  if (at == built_.end()) return nullptr;
  built_.splice(built_.begin(), built_, at);
  record = at->record;
  clRetainProgram(at->program);
  return at->program;
}

void BuiltPrograms::keep(const Device& device, std::string key, cl_program program, const BuildRecord& record) {
  if (record.values.executable == 0 || record.values.global_variables_size != 0) return;
  MutexLock lock(mutex_);
  if (look(device, key) != built_.end()) return;  // another session was faster
  clRetainProgram(program);
  built_.push_front({&device, std::move(key), program, record});
  if (built_.size() <= kCountMax) return;
  clReleaseProgram(built_.back().program);
  built_.pop_back();
}

}  // namespace remotecl::server
