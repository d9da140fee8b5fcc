#pragma once

#include <map>

#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/util/session_lock.h"

namespace remotecl::server {

// A client's sampler: one native sampler for each device, created when the device first needs it. Owned by
// the session's table and by pending commands.
class Sampler final : public RefCounted {
 public:
  Sampler(cl_bool normalized_coordinates, cl_addressing_mode addressing, cl_filter_mode filter)
      : normalized_coordinates_(normalized_coordinates), addressing_(addressing), filter_(filter) {}
  ~Sampler() override;

  // The sampler on `device`, still owned by this object.
  cl_int native(Device& device, cl_sampler& sampler) REQUIRES(session_lock);

 private:
  const cl_bool normalized_coordinates_;
  const cl_addressing_mode addressing_;
  const cl_filter_mode filter_;
  std::map<const Device*, cl_sampler> native_ GUARDED_BY(session_lock);
};

}  // namespace remotecl::server
