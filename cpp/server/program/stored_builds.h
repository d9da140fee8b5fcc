#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/store/content_store.h"
#include "server/driver/device.h"
#include "server/program/build_record.h"
#include "server/program/build_saver.h"
#include "server/program/program.h"
#include "server/program/program_files.h"

namespace remotecl::server {

// Builds that outlive the process: the driver's binary with the build results reported to the client. Owned
// by the sessions' host; any thread.
class StoredBuilds {
 public:
  // `store`: null if builds do not outlive the process. Then there are keys, but nothing is stored.
  StoredBuilds(ContentStore* store, BuildSaver::ReadBinary read_binary);

  bool has_store() const { return store_ != nullptr; }

  // A build's key: a digest of everything that its result depends on. Empty if the result may depend on
  // anything else, such as a file of this machine or the time.
  std::optional<Digest> key(const Program& program, const ClientFiles& sent, Device& device) EXCLUDES(mutex_);
  // The same of an object that is compiled.
  std::optional<Digest> object_key(const Program& program, const ClientFiles& sent,
                                   const std::vector<IncludedSource>& included, Device& device) EXCLUDES(mutex_);
  // The same of a program that is linked. `inputs`: their keys, in their order.
  std::optional<Digest> link_key(std::string_view options, const std::vector<std::optional<Digest>>& inputs,
                                 Device& device) EXCLUDES(mutex_);
  // The key of an input that is a binary of the client's.
  static Digest binary_key(Bytes binary);

  // An encoded build with a binary; empty: none is stored.
  std::vector<std::byte> find(const std::string& owner, const Digest& key);
  // Returns a native program for the caller, as if it had been built with these options. Null if the bytes are no
  // encoded build, have no binary, or the driver does not accept it.
  cl_program load(Bytes entry, Device& device, const std::string& options, BuildRecord& record);
  // The same of an object or a library, as if it had been compiled or linked, and its binary.
  cl_program load_part(Bytes entry, Device& device, cl_program_binary_type type, BuildRecord& record,
                       std::vector<std::byte>& binary);
  // Whether an executable may be stored.
  static bool may_be_kept(const BuildRecord& record);
  // Stores a successful build later. Returns what must be informed of used kernels; null: nothing.
  std::shared_ptr<UnusedKernels> keep(const std::string& owner, const Digest& key, const Device& device,
                                      cl_program program, const BuildRecord& record);
  // Stores now what was left for later.
  void save_all(std::chrono::steady_clock::time_point deadline) {
    if (saver_ != nullptr) saver_->save_all(deadline);
  }

  // A text that describes all that a program is made of and is unique to it.
  using Constants = std::map<std::uint32_t, std::string>;
  static std::string text_of(ProgramOrigin origin, std::string_view code, const Constants& constants,
                             const ClientFiles& sent);

  static std::vector<std::byte> encode(const BuildRecord& record, Bytes binary);
  // Returns false if the bytes are not an encoded build.
  static bool decode(Bytes bytes, BuildRecord& record, Bytes& binary);

 private:
  Digest identity(const Device& device) EXCLUDES(mutex_);
  // The key of what the text describes, on this device.
  Digest key_of(const Device& device, std::string_view text) EXCLUDES(mutex_);

  ContentStore* const store_;
  const std::string code_;
  Mutex mutex_;
  std::map<const Device*, Digest> identities_ GUARDED_BY(mutex_);
  const std::unique_ptr<BuildSaver> saver_;  // null without a store
};

}  // namespace remotecl::server
