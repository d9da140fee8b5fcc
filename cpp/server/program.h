#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/ref_counted.h"
#include "server/cl.h"
#include "server/device.h"

namespace remotecl::server {

// A client's program: one native program for each device that it was built for. Owned by the session's table,
// by its kernels and by builds in progress. What it was made from is constant; the rest needs the session's
// lock.
class Program final : public RefCounted {
 public:
  // From source; or from a binary of `binary_device`. `session_bytes` counts what programs of a session keep.
  Program(Bytes code, const Device* binary_device, std::shared_ptr<std::atomic<std::uint64_t>> session_bytes);
  ~Program() override;

  // A native program that is not built yet; the caller's. Any thread.
  cl_int make(Device& device, cl_program& program) const;

  // Whether its kernels may print. `text`: more of what it is made of, a header or options. Any thread.
  bool prints() const { return prints_.load(std::memory_order_relaxed); }
  void look_for_prints(std::string_view text);

  // The result of the last build; a failed one counts too. Takes the reference.
  void set_built(const Device& device, cl_program program, bool succeeded);
  // The program of the last build, still owned by this object; null when there was none.
  cl_program native(const Device& device) const;
  // The same, when that build has succeeded.
  cl_program executable(const Device& device) const;

 private:
  struct Built {
    cl_program program = nullptr;
    bool succeeded = false;
  };

  const std::string code_;
  const Device* const binary_device_;
  const std::shared_ptr<std::atomic<std::uint64_t>> session_bytes_;
  std::atomic<bool> prints_{false};
  std::vector<Built> built_;  // by device
};

}  // namespace remotecl::server
