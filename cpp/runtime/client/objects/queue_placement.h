#pragma once

#include <CL/cl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace remotecl {

class CommandPlan;
class CommandQueue;
class Device;
class Event;
class Platform;

using WaitList = std::span<Event* const>;

// The door for placing work on several devices: which member queue each command of a queue on an automatic device goes
// to. The queue owns it. Any thread.
class QueuePlacement {
 public:
  virtual ~QueuePlacement() = default;
  // Has the plan send its command to one of the member queues (CommandPlan::send_to). Returns CL_SUCCESS or an OpenCL
  // error.
  virtual cl_int submit(CommandPlan& plan, WaitList wait) = 0;
  // Marker or barrier of an out-of-order queue; an empty wait list means every earlier command.
  virtual cl_int enqueue_point(bool is_barrier, cl_command_type type, WaitList wait, Event** event) = 0;
  virtual void flush() = 0;
  virtual cl_int finish() = 0;  // see CommandQueue::finish()
  // See CommandQueue::owes_host().
  virtual bool owes_host() = 0;
  // The application has released the queue. Members that have commands live on by themselves.
  virtual void let_go() = 0;
};

// The other half of that door: makes the automatic device of a platform, and the placement of each queue on it. Any
// thread.
class AutomaticDevices {
 public:
  // Null: this process has no automatic device, because the library was built without an implementation.
  static AutomaticDevices* instance() { return instance_; }
  // By the composition root, before the first entry point. `devices` lives until the process ends.
  static void install(AutomaticDevices& devices) { instance_ = &devices; }

  // The device that stands for those of `devices` that can take part. Null if there are none.
  virtual Device* make_device(Platform& platform, const std::vector<Device*>& devices) = 0;
  // `whole`: the queue on such a device, which owns the result.
  virtual std::unique_ptr<QueuePlacement> make_placement(CommandQueue& whole) = 0;
  struct Count {
    Device* device;
    std::uint64_t kernels;  // placed there
  };
  // Of every device that has been a member.
  virtual std::vector<Count> counts() = 0;

 protected:
  ~AutomaticDevices() = default;

 private:
  inline static AutomaticDevices* instance_ = nullptr;
};

}  // namespace remotecl
