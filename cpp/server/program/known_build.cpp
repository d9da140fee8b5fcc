// Builds whose outcome may be known: from an earlier one, or from the store.
#include "server/program/build_cache.h"
#include "server/program/printf_search.h"
#include "server/program/program_builder.h"

namespace remotecl::server {
BuildReport::Options BuildReport::options_for(const Program& program, const Device& device, const WrittenFiles& files) {
  const bool asks = program.origin() == ProgramOrigin::kSource && asks_for_arguments(device, files.options());
  return {asks ? files.options() + " " + kArgumentInfo : files.options(), asks};
}

cl_program BuildReport::build(const Program& program, Device& device, const WrittenFiles& files, BuildCache& before,
                              const std::string& key, const StoredRequest* stored) {
  BuildRecord& record = begin(device);
  const bool is_shared = !key.empty() && &device == &device.root();
  StoredBuilds& store = *before.stored();
  if (cl_program const native = is_shared ? before.find(device, key, record) : nullptr) return native;
  std::optional<Digest> stored_key;
  if (stored != nullptr && store.has_store()) stored_key = store.key(program, stored->sent, device);
  const Options options = options_for(program, device, files);
  if (stored_key) {
    cl_program const native = store.load(store.find(stored->owner, *stored_key), device, options.text, record);
    if (native != nullptr && is_shared) before.keep(device, key, native, record);
    if (native != nullptr) return native;
  }
  return compile_source(program, device, files, options, before, is_shared ? key : std::string(),
                        stored != nullptr ? stored->owner : std::string(), stored_key);
}

cl_program BuildReport::compile_source(const Program& program, Device& device, const WrittenFiles& files,
                                       const Options& options, BuildCache& before, const std::string& key,
                                       const std::string& owner, const std::optional<Digest>& stored_key) {
  BuildRecord& record = records_.back();
  cl_program native = nullptr;
  record.values.error = program.make(device, native, files.source());
  if (native == nullptr) return nullptr;
  const cl_device_id id = device.id();
  record.values.error = clBuildProgram(native, 1, &id, options.text.c_str(), nullptr, nullptr);
  if (record.values.error != CL_SUCCESS && options.asks_for_arguments &&
      device.traits().quirks.rejects_request_for_arguments) {
    record.values.error = clBuildProgram(native, 1, &id, files.options().c_str(), nullptr, nullptr);
  }
  finish(record, native, device, &files);
  if (record.values.status == CL_BUILD_SUCCESS) {
    finish_executable(record, native, device, options.asks_for_arguments);
    record.prints =
        program.may_print() && compiler_finds_printf(device, files.source().value_or(program.code()), files.options());
  }
  if (!key.empty()) before.keep(device, key, native, record);
  keep(*before.stored(), owner, stored_key, device, native);
  return native;
}

void BuildReport::keep(StoredBuilds& store, const std::string& owner, const std::optional<Digest>& key,
                       const Device& device, cl_program native) {
  if (key) asides_.back().unused = store.keep(owner, *key, device, native, records_.back());
}

void BuildReport::note_part(const std::optional<Digest>& key, std::vector<std::byte> binary) {
  if (key && records_.back().values.status == CL_BUILD_SUCCESS) asides_.back().part = {*key, std::move(binary)};
}

}  // namespace remotecl::server
