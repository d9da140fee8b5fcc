// Builds whose outcome may be known: from an earlier one, or from the store.
#include "server/program/build_cache.h"
#include "server/program/printf_search.h"
#include "server/program/program_builder.h"

namespace remotecl::server {
namespace {

// Reads from an entry what is reported to the client. Returns false if the bytes are no entry of a
// built program with its binary.
bool take_record(Bytes entry, BuildRecord& record) {
  BuildRecord found;
  Bytes binary;
  if (entry.empty() || !StoredBuilds::decode(entry, found, binary)) return false;
  const DeviceBuild& values = found.values;
  const bool is_built = values.error == CL_SUCCESS && values.status == CL_BUILD_SUCCESS;
  if (!is_built || !StoredBuilds::may_be_kept(found) || binary.empty()) return false;
  found.values.device = record.values.device;
  record = std::move(found);
  return true;
}

}  // namespace

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
  cl_program native = nullptr;
  if (stored_key && look_up(program, device, options, store, *stored, *stored_key, native)) {
    if (native != nullptr && is_shared) before.keep(device, key, native, record);
    return native;
  }
  return compile_source(program, device, files, options, before, is_shared ? key : std::string(),
                        stored != nullptr ? stored->owner : std::string(), stored_key);
}

bool BuildReport::look_up(const Program& program, Device& device, const Options& options, StoredBuilds& store,
                          const StoredRequest& stored, const Digest& key, cl_program& native) {
  BuildRecord& record = records_.back();
  const BuildRecord blank = record;
  std::vector<std::byte> entry = store.find(stored.owner, key);
  // Late programs are made on another thread, so only from source: the building thread may change what others are made
  // of.
  const bool may_be_late = stored.may_be_late && program.origin() == ProgramOrigin::kSource;
  if (may_be_late && take_record(entry, record)) {
    asides_.back().late = LateBuild{key, std::move(entry)};
    return true;
  }
  record = blank;
  native = store.load(entry, device, options.text, record);
  return native != nullptr;
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

cl_program BuildReport::build_late(const Program& program, Device& device, const WrittenFiles& files,
                                   BuildCache& before, const std::string& key, const std::string& owner,
                                   const LateBuild& late) {
  BuildRecord& record = begin(device);
  const BuildRecord blank = record;
  const Options options = options_for(program, device, files);
  if (cl_program const native = before.stored()->load(late.entry, device, options.text, record)) {
    if (!key.empty()) before.keep(device, key, native, record);
    return native;
  }
  record = blank;
  return compile_source(program, device, files, options, before, key, owner, late.key);
}

}  // namespace remotecl::server
