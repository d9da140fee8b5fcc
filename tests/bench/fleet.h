#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "opencl_objects.h"
#include "opencl_side.h"

namespace remotecl::bench {

// Bytes that the kernels of a fleet write and check, one work item for each page.
constexpr size_t kWordsPerPage = 1024;
constexpr size_t kPageBytes = kWordsPerPage * sizeof(cl_uint);

// What `produce` writes at `index`.
constexpr cl_uint produced_word(cl_uint index, cl_uint seed) { return (index ^ seed) * 2654435761u + seed; }
// What `compute` gives. Takes the host as long as a kernel.
cl_uint computed_word(cl_uint seed, cl_uint rounds);

// Several places that compute, each with an in-order queue, in one context. Used by main's thread only.
class Fleet {
 public:
  // A device may be there more than once: then its places share it.
  Fleet(cl_platform_id platform, std::vector<cl_device_id> members);

  const std::string& name() const { return name_; }
  size_t size() const { return queues_.size(); }
  cl_command_queue queue(size_t index) const { return queues_.at(index).get(); }
  cl_device_id device(size_t index) const { return members_.at(index); }
  cl_context context() const { return context_.get(); }
  size_t max_allocation() const { return max_allocation_; }
  cl_platform_id platform() const { return platform_; }

  Memory make_buffer(size_t size) const { return bench::make_buffer(context_.get(), size); }

  void increment(size_t index, const Memory& counter, cl_event wait = nullptr, cl_event* event = nullptr) const;
  // Fills the first `size` bytes, whole pages, with what only `seed` gives.
  void produce(size_t index, const Memory& data, size_t size, cl_uint seed, cl_event wait = nullptr,
               cl_event* event = nullptr) const;
  // The same for less than a page, and writes `size` into `content_size`.
  void produce_some(size_t index, const Memory& data, size_t size, cl_uint seed, const Memory& content_size) const;
  // Adds to `matching` how many of the first `size` bytes' words are as produced.
  void consume(size_t index, const Memory& data, size_t size, cl_uint seed, const Memory& matching,
               cl_event wait = nullptr, cl_event* event = nullptr) const;
  // Adds `summand` to each word of the first `size` bytes, whole pages.
  void add(size_t index, const Memory& data, size_t size, cl_uint summand) const;
  // One work item that computes for a time in proportion to `rounds`, in a queue of the place's device.
  void compute(cl_command_queue queue, const Memory& result, cl_uint seed, cl_uint rounds,
               cl_event* event = nullptr) const;
  void migrate(size_t index, const Memory& buffer) const;
  void flush(size_t index) const;
  void finish(size_t index) const;
  void finish_all() const;

  void write_int(size_t index, const Memory& buffer, cl_int value) const;
  cl_int read_int(size_t index, const Memory& buffer) const;

 private:
  cl_platform_id platform_;
  std::string name_;
  size_t max_allocation_ = 0;
  std::vector<cl_device_id> members_;
  Context context_;
  std::vector<Queue> queues_;
  Program program_;
  Kernel increment_;
  Kernel produce_;
  Kernel produce_some_;
  Kernel consume_;
  Kernel add_;
  Kernel compute_;
};

// Whose devices are places: all of the type that is measured.
enum class Reach { kFirstServer, kAllServers };

// The fleets of both sides, made when the first case needs them: a context over several servers makes these link up,
// which other cases should not feel.
class Fleets {
 public:
  Fleets(DeviceChoice remote, std::optional<DeviceChoice> native);

  size_t server_count() const { return members_.size(); }
  // One place on every server, the device like the chosen one where the server has such.
  const Fleet& remotecl();
  // As many places on the native device; null where there is none.
  const Fleet* native();
  // A place on every device.
  const Fleet& remotecl_devices(Reach reach);
  // As many places on the native devices of that type, which share these where they are fewer; null where there is
  // none.
  const Fleet* native_devices(Reach reach);

 private:
  struct Sides {
    std::unique_ptr<Fleet> remotecl;
    std::unique_ptr<Fleet> native;
  };

  DeviceChoice remote_choice_;
  std::optional<DeviceChoice> native_choice_;
  std::vector<cl_device_id> members_;
  std::unique_ptr<Fleet> remotecl_;
  std::unique_ptr<Fleet> native_;
  std::map<Reach, Sides> devices_;
};

}  // namespace remotecl::bench
