#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "server/program/program_builder.h"
#include "server/program/stored_builds.h"

namespace remotecl::server {

// Programs that were built lately, by any session: who builds the same for the same device gets the same native program
// at once. Drivers keep what they have compiled in files, and still take 2 to 30 ms to find it there. Owned by the
// sessions' host; any thread.
class BuildCache {
 public:
  // `store`: for builds that are to outlive the process; null: none is kept. It outlives this object.
  explicit BuildCache(ContentStore* store = nullptr);

  // All that the result depends on, beside the device; empty where sessions must not share it, or it may depend on
  // something else.
  static std::string key(const Program& program, const BuildProgram& message);

  // Of devices that are no parts of others. A reference of the caller's, and what was found out about it; null when
  // there is none.
  cl_program find(const Device& device, const std::string& key, BuildRecord& record) EXCLUDES(mutex_);
  // Keeps a program that was built well, and has no variables that its users would share.
  void keep(const Device& device, std::string key, cl_program program, const BuildRecord& record) EXCLUDES(mutex_);

  // Null: builds are not stored.
  StoredBuilds* stored() const { return stored_.get(); }

  // Of a program that others may have, too: PoCL makes it when it is asked, and must not be asked twice at a time.
  cl_int read_binary(cl_program program, std::vector<std::byte>& binary) EXCLUDES(binary_mutex_);

 private:
  static constexpr std::size_t kCountMax = 64;
  static constexpr std::size_t kKeySizeMax = 1u << 20;

  struct Built;
  using Kept = std::list<std::shared_ptr<const Built>>;

  Kept::iterator look(const Device& device, const std::string& key) REQUIRES(mutex_);

  Mutex mutex_;                   // not while the driver is called, which may be compiling
  Kept kept_ GUARDED_BY(mutex_);  // the last used one first
  Mutex binary_mutex_;
  const std::unique_ptr<StoredBuilds> stored_;  // last: its thread uses the mutex
};

}  // namespace remotecl::server
