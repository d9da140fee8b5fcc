#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/store/content_store.h"
#include "server/driver/device.h"
#include "server/program/build_record.h"
#include "server/program/build_saver.h"
#include "server/program/program.h"
#include "server/program/program_files.h"

namespace remotecl::server {

// Builds that outlive the process: the driver's binary with what the client was told of the build. Owned by the
// sessions' host; any thread.
class StoredBuilds {
 public:
  StoredBuilds(ContentStore& store, BuildSaver::ReadBinary read_binary);

  // What a build is found by: a digest of everything that its result depends on. Empty where that may also be something
  // else, like a file of this machine or the time.
  std::optional<Digest> key(const Program& program, const ClientFiles& sent, Device& device) EXCLUDES(mutex_);

  // A native program, the caller's, as if it had been built with these options; null when there is none, or the driver
  // does not take it any more.
  cl_program find(const std::string& owner, const Digest& key, Device& device, const std::string& options,
                  BuildRecord& record);
  // Stores a build that has succeeded, later. What is to be told of its kernels; null: nothing.
  std::shared_ptr<UnusedKernels> keep(const std::string& owner, const Digest& key, const Device& device,
                                      cl_program program, const BuildRecord& record);
  // Stores now what is left for later.
  void save_all(std::chrono::steady_clock::time_point deadline) { saver_.save_all(deadline); }

  // What a program is made of, as text of which no other program has the same.
  using Constants = std::map<std::uint32_t, std::string>;
  static std::string text_of(ProgramOrigin origin, std::string_view code, const Constants& constants,
                             const ClientFiles& sent);

  static std::vector<std::byte> encode(const BuildRecord& record, Bytes binary);
  // False for bytes that are none.
  static bool decode(Bytes bytes, BuildRecord& record, Bytes& binary);

 private:
  Digest identity(const Device& device) EXCLUDES(mutex_);

  ContentStore& store_;
  const std::string code_;
  Mutex mutex_;
  std::map<const Device*, Digest> identities_ GUARDED_BY(mutex_);
  BuildSaver saver_;
};

}  // namespace remotecl::server
