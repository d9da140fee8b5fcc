// Builds whose outcome may be known: from an earlier one, from the store, or from another server.
#include "server/program/build_cache.h"
#include "server/program/printf_search.h"
#include "server/program/program_builder.h"

namespace remotecl::server {
namespace {

// Reads from an entry what is reported to the client. Returns false if the bytes are no entry, or if they describe a
// built program without its binary.
bool take_record(Bytes entry, BuildRecord& record) {
  BuildRecord found;
  Bytes binary;
  if (entry.empty() || !StoredBuilds::decode(entry, found, binary)) return false;
  const DeviceBuild& values = found.values;
  const bool is_built = values.error == CL_SUCCESS && values.status == CL_BUILD_SUCCESS;
  if (!StoredBuilds::is_failure(found) && (!is_built || !StoredBuilds::may_be_kept(found) || binary.empty())) {
    return false;
  }
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
  // A peer does not help a driver that has no binary of a new program: it would have to compile here anyway, but later,
  // while the first kernel and all that comes behind it wait.
  const bool has_binaries = !device.traits().quirks.compiles_for_binary;
  BuildPeers* const peers = stored == nullptr || !has_binaries ? nullptr : stored->peers;
  StoredBuilds& store = *before.stored();
  cl_program native = is_shared ? before.find(device, key, record) : nullptr;
  if (native != nullptr && peers == nullptr) return native;
  std::optional<Digest> stored_key;
  if (peers != nullptr || (stored != nullptr && store.has_store()))
    stored_key = store.key(program, stored->sent, device);
  if (native == nullptr) {
    const Options options = options_for(program, device, files);
    if (stored_key && look_up(program, device, files, options, before, *stored, peers, *stored_key, native)) {
      if (native != nullptr && is_shared && !is_peers_) before.keep(device, key, native, record);
      return native;
    }
    native = compile_source(program, device, files, options, before, is_shared ? key : std::string(),
                            stored != nullptr ? stored->owner : std::string(), stored_key);
  }
  if (native != nullptr && stored_key && peers != nullptr) publish(*peers, *stored_key, native, before);
  return native;
}

bool BuildReport::look_up(const Program& program, Device& device, const WrittenFiles& files, const Options& options,
                          BuildCache& before, const StoredRequest& stored, BuildPeers* peers, const Digest& key,
                          cl_program& native) {
  StoredBuilds& store = *before.stored();
  // Late programs are made on another thread, so only from source: the building thread may change what others are made
  // of.
  const bool may_be_late = stored.may_be_late && program.origin() == ProgramOrigin::kSource;
  BuildRecord& record = records_.back();
  const BuildRecord blank = record;
  std::vector<std::byte> entry = store.find(stored.owner, key);
  const bool is_late = may_be_late && take_record(entry, record) && !StoredBuilds::is_failure(record);
  if (!is_late) {
    record = blank;
    native = store.load(entry, device, options.text, record);
  }
  if (native != nullptr || is_late) {
    if (peers != nullptr) peers->publish(key, entry);
    if (is_late) asides_.back().late = LateBuild{key, std::move(entry), false};
    return true;
  }
  if (peers == nullptr) return false;
  entry = peers->ask(key);
  if (!take_record(entry, record)) return false;
  if (StoredBuilds::is_failure(record)) return true;
  if (may_be_late) {
    asides_.back().late = LateBuild{key, std::move(entry), true};
    return true;
  }
  native = load_peers(entry, device, files, options, before);
  if (native == nullptr) record = blank;
  return native != nullptr;
}

// The client has named the peer, so the peer is trusted no more than the client: what its record says of the arguments
// must not reach the driver.
cl_program BuildReport::load_peers(Bytes entry, Device& device, const WrittenFiles& files, const Options& options,
                                   BuildCache& before) {
  BuildRecord said = records_.back();
  const cl_program native = before.stored()->load(entry, device, options.text, said);
  if (native == nullptr) return nullptr;
  BuildRecord& record = records_.back();
  record = {};
  record.values.device = device.index();
  record.prints = said.prints;
  finish(record, native, device, &files);
  finish_executable(record, native, device, options.asks_for_arguments);
  is_peers_ = true;
  return native;
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

void BuildReport::publish(BuildPeers& peers, const Digest& key, cl_program native, BuildCache& before) const {
  const BuildRecord& record = records_.back();
  std::vector<std::byte> binary;
  if (!StoredBuilds::is_failure(record)) {
    if (!StoredBuilds::may_be_kept(record)) return;
    if (before.read_binary(native, binary) != CL_SUCCESS) return;
  }
  peers.publish(key, StoredBuilds::encode(record, binary));
}

cl_program BuildReport::build_late(const Program& program, Device& device, const WrittenFiles& files,
                                   BuildCache& before, const std::string& key, const std::string& owner,
                                   const LateBuild& late) {
  BuildRecord& record = begin(device);
  const BuildRecord blank = record;
  const Options options = options_for(program, device, files);
  cl_program native = nullptr;
  if (late.is_peers) {
    native = load_peers(late.entry, device, files, options, before);
  } else {
    native = before.stored()->load(late.entry, device, options.text, record);
    if (native != nullptr && !key.empty()) before.keep(device, key, native, record);
  }
  if (native != nullptr) return native;
  record = blank;
  return compile_source(program, device, files, options, before, key, owner, late.key);
}

}  // namespace remotecl::server
