#pragma once

#include <cstddef>
#include <map>

#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "runtime/base/mutex.h"
#include "runtime/protocol/messages.h"
#include "runtime/protocol/messages/user_status.h"
#include "server/arguments/provided_argument.h"

namespace remotecl::server {

class SpaceArgument;

// All existing networks of a session, including those that the client has released but kernels still use. Any thread.
class LiveSpaces final : public RefCounted {
 public:
  // As those of SessionArguments.
  void stop() EXCLUDES(mutex_);
  std::size_t stop_present() EXCLUDES(mutex_);
  bool has_some() const EXCLUDES(mutex_);
  // `open` counts the sockets at present.
  std::map<std::uint32_t, SocketStatus> status() const EXCLUDES(mutex_);

 private:
  friend class SpaceArgument;
  struct Live {
    std::uint32_t device;
    bool is_stopped = false;  // because the client is not there
  };
  void add(KernelSocketSpace& network, std::uint32_t device) EXCLUDES(mutex_);
  void remove(KernelSocketSpace& network) EXCLUDES(mutex_);

  mutable Mutex mutex_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::map<KernelSocketSpace*, Live> networks_ GUARDED_BY(mutex_);
  std::map<std::uint32_t, SocketStatus> past_ GUARDED_BY(mutex_);
};

// A client's network. Its last owner waits for the network's threads.
class SpaceArgument final : public ProvidedArgument {
 public:
  SpaceArgument(Device& device, const SpaceShape& shape, KernelSocketSpace::Hooks hooks, Ref<LiveSpaces> live,
                Ref<SessionCounters> counters);
  ~SpaceArgument() override;

  // These come after native().
  void command_begins() override { network_->kernel_begins(); }
  void command_ended() override { network_->kernel_ended(); }
  void stop() override { network_->stop(); }

 private:
  cl_int make(Device& device, Native& native) override;

  Device& device_;
  const SpaceShape shape_;
  const KernelSocketSpace::Hooks hooks_;
  const Ref<LiveSpaces> live_;
  Ref<KernelSocketSpace> network_;
};

}  // namespace remotecl::server
