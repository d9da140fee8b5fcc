#pragma once

#include <cstdint>

namespace remotecl {

class Session;

// Receives how busy other sessions keep the devices of a watched server (Session::watch_loads).
class LoadSink {
 public:
  struct Load {
    double queued_s = 0;  // how long the device takes for others' work that has not ended; an estimate
    double weight = 0;    // of the sessions whose work that is, added up; each has that of its user
    double own = 0;       // weight of this session; 0: the server does not say so
  };

  // The load of a device has changed, or it is the first report, which names every device. `device_index` is as the
  // server names the device, and may be any number. Called on the reading thread: must not block.
  virtual void device_load(Session& session, std::uint32_t device_index, const Load& load) = 0;

 protected:
  ~LoadSink() = default;
};

}  // namespace remotecl
