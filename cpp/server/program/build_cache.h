#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "server/program/program_builder.h"
#include "server/program/stored_builds.h"

namespace remotecl::server {

// Recently built programs of any session: an equal build for the same device gets the same native program at
// once. Drivers also keep what they have compiled, in files, but take 2 to 30 ms to find it there. Owned by
// the sessions' host; any thread.
class BuildCache {
 public:
  // `store`: for builds that outlive the process; null: none is stored. It outlives this object.
  explicit BuildCache(ContentStore* store = nullptr);

  // Everything that the result depends on besides the device. Empty if sessions must not share the result, or
  // if it may depend on something else.
  static std::string key(const Program& program, const ClientFiles& sent);

  // For devices that are not sub-devices. Returns a reference for the caller and what is known of the build,
  // or null if there is none.
  cl_program find(const Device& device, const std::string& key, BuildRecord& record) EXCLUDES(mutex_);
  // Keeps a program that was built successfully and has no variables that its users would share.
  void keep(const Device& device, std::string key, cl_program program, const BuildRecord& record) EXCLUDES(mutex_);

  StoredBuilds* stored() const { return stored_.get(); }

  // For programs that other sessions may share: PoCL makes the binary on request, in the program and without a lock.
  // So it must not be asked twice at a time for the same program; it may be for several programs, and can take seconds.
  cl_int read_binary(cl_program program, std::vector<std::byte>& binary) EXCLUDES(mutex_);

 private:
  static constexpr std::size_t kCountMax = 64;
  static constexpr std::size_t kKeySizeMax = 1u << 20;

  struct Built;
  class BinaryReader;
  using Kept = std::list<std::shared_ptr<const Built>>;

  Kept::iterator look(const Device& device, const std::string& key) REQUIRES(mutex_);

  Mutex mutex_;                   // not while the driver is called, which may be compiling
  Kept kept_ GUARDED_BY(mutex_);  // the last used one first
  std::set<cl_program> being_read_ GUARDED_BY(mutex_);
  ConditionVariable has_been_read_;
  const std::unique_ptr<StoredBuilds> stored_;  // last, because its thread uses the mutex
};

}  // namespace remotecl::server
