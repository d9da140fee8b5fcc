#pragma once

#include <cstddef>
#include <map>

#include "runtime/base/mutex.h"
#include "server/memory/memory.h"
#include "server/network/network.h"

namespace remotecl::server {

class NetworkArgument;

// All existing networks of a session, including those that the client has released but kernels still use. Any thread.
class LiveNetworks final : public RefCounted {
 public:
  // Stops all networks, including later ones, which ends kernels' waits for their sockets. Does not block.
  void stop() EXCLUDES(mutex_);
  // Stops the networks that exist now. Returns how many had not been stopped before.
  std::size_t stop_present() EXCLUDES(mutex_);
  // Whether any has not been stopped.
  bool has_some() const EXCLUDES(mutex_);
  // Sums by device, including destroyed networks; `sockets` are those in use at present.
  std::map<std::uint32_t, NetworkStats> stats() const EXCLUDES(mutex_);

 private:
  friend class NetworkArgument;
  struct Live {
    std::uint32_t device;
    bool is_stopped = false;  // because the client is not there
  };
  void add(Network& network, std::uint32_t device) EXCLUDES(mutex_);
  void remove(Network& network) EXCLUDES(mutex_);

  mutable Mutex mutex_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<Network*, Live> networks_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, NetworkStats> past_ GUARDED_BY(mutex_);
};

// A client's network: an argument of kernels of one device. No other command finds it. Its last owner waits for the
// network's thread, so it must not hold the session's lock.
class NetworkArgument final : public Memory {
 public:
  NetworkArgument(Device& device, const NetworkShape& shape, Network::Hooks hooks, Ref<LiveNetworks> live,
                  Ref<SessionCounters> counters);
  ~NetworkArgument() override;

  // Null before native() has made it.
  Network* network() const { return network_.get(); }

 private:
  cl_int make(Device& device, Native& native) override;

  Device& device_;
  const NetworkShape shape_;
  const Network::Hooks hooks_;
  const Ref<LiveNetworks> live_;
  Ref<Network> network_;
};

}  // namespace remotecl::server
