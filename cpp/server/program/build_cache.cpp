#include "server/program/build_cache.h"

#include <algorithm>
#include <utility>

#include "runtime/includes/directives.h"

namespace remotecl::server {
namespace {

// Programs in languages newer than OpenCL C 1.x may have variables that keep their values from one kernel to
// the next.
bool may_have_variables(std::string_view options) {
  constexpr std::string_view kLanguage = "-cl-std=";
  for (auto at = options.find(kLanguage); at != std::string_view::npos; at = options.find(kLanguage)) {
    options.remove_prefix(at + kLanguage.size());
    if (!options.starts_with("CL1")) return true;
  }
  return false;
}

}  // namespace

struct BuildCache::Built {
  Built(const Device& on, std::string made_of, cl_program native, const BuildRecord& found)
      : device(&on), key(std::move(made_of)), program(native), record(found) {
    clRetainProgram(program);
  }
  ~Built() { clReleaseProgram(program); }
  Built(const Built&) = delete;
  Built& operator=(const Built&) = delete;

  const Device* const device;
  const std::string key;
  const cl_program program;
  const BuildRecord record;
};

BuildCache::BuildCache(ContentStore* store)
    : stored_(std::make_unique<StoredBuilds>(
          store, [this](cl_program program, std::vector<std::byte>& binary) { return read_binary(program, binary); })) {
}

std::string BuildCache::key(const Program& program, const ClientFiles& sent) {
  if (program.origin() != ProgramOrigin::kSource || may_have_variables(sent.options)) return {};
  // Such programs may refer to files of this machine, which can change.
  if (!sent.headers.empty() || may_name_files(program.code()) || may_name_files(sent.options)) return {};
  if (program.code().size() + sent.options.size() > kKeySizeMax) return {};
  // The size marks where the options end.
  return std::to_string(sent.options.size()) + ":" + std::string(sent.options) + program.code();
}

BuildCache::Kept::iterator BuildCache::look(const Device& device, const std::string& key) {
  return std::find_if(kept_.begin(), kept_.end(),
                      [&](const auto& built) { return built->device == &device && built->key == key; });
}

cl_program BuildCache::find(const Device& device, const std::string& key, BuildRecord& record) {
  std::shared_ptr<const Built> found;
  {
    MutexLock lock(mutex_);
    const auto at = look(device, key);
    if (at == kept_.end()) return nullptr;
    kept_.splice(kept_.begin(), kept_, at);
    found = *at;
  }
  record = found->record;
  clRetainProgram(found->program);
  return found->program;
}

void BuildCache::keep(const Device& device, std::string key, cl_program program, const BuildRecord& record) {
  // No kernels means that the driver lacked memory to report them.
  if (record.values.executable == 0 || record.kernels.empty() || record.values.global_variables_size != 0) return;
  // Declared before the lock, so that they are destroyed after its release.
  auto built = std::make_shared<const Built>(device, std::move(key), program, record);
  std::shared_ptr<const Built> forgotten;
  MutexLock lock(mutex_);
  if (look(device, built->key) != kept_.end()) return;  // another session was faster
  kept_.push_front(std::move(built));
  if (kept_.size() <= kCountMax) return;
  forgotten = std::move(kept_.back());
  kept_.pop_back();
}

// The only one of its program.
class BuildCache::BinaryReader {
 public:
  BinaryReader(BuildCache& cache, cl_program program) : cache_(cache), program_(program) {
    const MutexLock lock(cache_.mutex_);
    while (!cache_.being_read_.insert(program_).second) cache_.has_been_read_.wait(cache_.mutex_);
  }
  ~BinaryReader() {
    const MutexLock lock(cache_.mutex_);
    cache_.being_read_.erase(program_);
    cache_.has_been_read_.notify_all();
  }
  BinaryReader(const BinaryReader&) = delete;
  BinaryReader& operator=(const BinaryReader&) = delete;

 private:
  BuildCache& cache_;
  const cl_program program_;
};

cl_int BuildCache::read_binary(cl_program program, std::vector<std::byte>& binary) {
  const BinaryReader reader(*this, program);
  return server::read_binary(program, binary);
}

}  // namespace remotecl::server
