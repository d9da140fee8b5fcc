#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "extras/kernel_sockets/space/kernel_names.h"
#include "extras/kernel_sockets/space/remote_names.h"
#include "extras/kernel_sockets/space/socket_account.h"
#include "extras/kernel_sockets/space/socket_broker.h"
#include "extras/kernel_sockets/space/space_shape.h"
#include "runtime/base/ref_counted.h"
#include "server/completion/cl.h"

namespace remotecl::server {

class Device;
class SpaceMemory;
class Proxy;

// What a network has done so far.
struct SpaceStats {
  std::uint64_t sockets = 0;  // in use at present
  std::uint64_t opened = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

// How many threads move the bytes of a network. A value.
struct SpaceThreads {
  static constexpr std::uint32_t kMost = 64;

  std::uint32_t most = 0;  // 0: as many as there are cores, at most 16
  // kByLoad: one thread until it is busy. kFixed: always the most. kRestless, for tests: lanes move without a reason.
  enum class Rule { kByLoad, kFixed, kRestless } rule = Rule::kByLoad;
  // At least 1.
  std::uint32_t bound() const;
};

// The sockets of kernels of one device: a native buffer with their rings, and threads that move bytes between the rings
// and the sockets of this machine. Owned by the session and by commands that use the buffer; any thread.
class KernelSocketSpace final : public RefCounted {
 public:
  struct Hooks {
    Ref<SocketBroker> broker = {};
    Ref<SocketAccount> account = {};  // null: no limits
    Ref<KernelNames> names = {};      // of the session; null: rcl: names reach this network only
    SpaceThreads threads = {};
    Ref<RemoteNames> remote_names = {};  // those of its other servers; null: there are none
  };

  // Whether the device has memory that a running kernel and the host both see. Makes the device's context.
  static bool works_on(Device& device);
  // Returns null and sets `error`: CL_INVALID_VALUE for a shape that is not valid, CL_INVALID_OPERATION for a device
  // without such memory, or the driver's error.
  static Ref<KernelSocketSpace> make(Device& device, const SpaceShape& shape, Hooks hooks, cl_int& error);
  // What `#include "remotecl/net.cl"` stands for.
  static const std::string& kernel_library();

  // The argument of kernels; lives as long as the network.
  cl_mem memory() const;
  const SpaceShape& shape() const { return shape_; }

  // Called before a kernel with memory() as an argument can begin, and after it has ended. The proxy polls the rings
  // while such a kernel runs; otherwise it sleeps until something comes from outside.
  void kernel_begins();
  void kernel_ended();
  // Ends all present and future waits of kernels with -ECANCELED within a second, and closes all sockets. Before that,
  // peers have at most a second to take what kernels have sent. Does not block; the destructor waits for that second.
  void stop();
  SpaceStats stats() const;

 private:
  KernelSocketSpace(const SpaceShape& shape, std::unique_ptr<SpaceMemory> memory, const Hooks& hooks);
  ~KernelSocketSpace() override;

  const SpaceShape shape_;
  const std::unique_ptr<SpaceMemory> memory_;
  std::unique_ptr<Proxy> proxy_;  // ends before the memory
};

}  // namespace remotecl::server
