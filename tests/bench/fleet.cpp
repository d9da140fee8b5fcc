#include "fleet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "remotecl/remotecl.h"

namespace remotecl::bench {
namespace {

constexpr const char* kFleetSource = R"(
uint word(uint index, uint seed) { return (index ^ seed) * 2654435761u + seed; }

kernel void increment(global int* counter) { ++*counter; }

kernel void produce(global uint* data, uint words, uint seed) {
  uint begin = get_global_id(0) * words;
  for (uint i = begin; i < begin + words; ++i) data[i] = word(i, seed);
}

kernel void produce_some(global uint* data, uint words, uint seed, global ulong* content_size) {
  for (uint i = 0; i < words; ++i) data[i] = word(i, seed);
  *content_size = (ulong)words * sizeof(uint);
}

kernel void consume(global const uint* data, uint words, uint seed, global int* matching) {
  uint begin = get_global_id(0) * words;
  int equal = 0;
  for (uint i = begin; i < begin + words; ++i) equal += data[i] == word(i, seed);
  atomic_add(matching, equal);
}

kernel void add(global uint* data, uint words, uint summand) {
  uint begin = get_global_id(0) * words;
  for (uint i = begin; i < begin + words; ++i) data[i] += summand;
}

kernel void compute(global uint* result, uint seed, uint rounds) {
  uint value = seed;
  for (uint i = 0; i < rounds; ++i) {
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
  }
  *result = value;
}
)";

void enqueue(cl_command_queue queue, const Kernel& kernel, size_t items, cl_event wait, cl_event* event) {
  check(clEnqueueNDRangeKernel(queue, kernel.get(), 1, nullptr, &items, nullptr, wait ? 1 : 0, wait ? &wait : nullptr,
                               event),
        "clEnqueueNDRangeKernel");
}

// Whole pages have an item each; less than a page has one for all of it.
std::pair<size_t, cl_uint> divide(size_t size) {
  if (size < kPageBytes) return {1, static_cast<cl_uint>(size / sizeof(cl_uint))};
  return {size / kPageBytes, static_cast<cl_uint>(kWordsPerPage)};
}

std::vector<cl_device_id> devices_of_type(cl_platform_id platform, cl_device_type type) {
  std::vector<cl_device_id> devices = all_devices(platform);
  std::erase_if(devices, [type](cl_device_id device) {
    return (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & type) == 0;
  });
  return devices;
}

// In the order of the platform's devices, which is the order of --servers.
std::vector<cl_device_id> one_of_each_server(const DeviceChoice& wanted) {
  std::vector<std::string> servers;
  std::map<std::string, cl_device_id> chosen;
  for (cl_device_id device : all_devices(wanted.platform)) {
    const std::string server = device_string(device, CL_DEVICE_REMOTECL_SERVER);
    const auto [at, is_new] = chosen.try_emplace(server, device);
    if (is_new) servers.push_back(server);
    if (device_string(at->second, CL_DEVICE_NAME) != wanted.device_name &&
        device_string(device, CL_DEVICE_NAME) == wanted.device_name) {
      at->second = device;
    }
  }
  std::vector<cl_device_id> members;
  for (const std::string& server : servers) members.push_back(chosen.at(server));
  return members;
}

}  // namespace

cl_uint computed_word(cl_uint seed, cl_uint rounds) {
  cl_uint value = seed;
  for (cl_uint i = 0; i < rounds; ++i) {
    value ^= value << 13;
    value ^= value >> 17;
    value ^= value << 5;
  }
  return value;
}

Fleet::Fleet(cl_platform_id platform, std::vector<cl_device_id> members)
    : platform_(platform), name_(platform_name(platform)), members_(members) {
  std::vector<cl_device_id> devices;
  for (cl_device_id device : members) {
    if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
  }
  context_ = make_context(platform, devices);
  max_allocation_ = SIZE_MAX;
  for (cl_device_id device : devices) {
    max_allocation_ = std::min<size_t>(max_allocation_, device_value<cl_ulong>(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE));
  }
  for (cl_device_id device : members) queues_.push_back(make_queue(context_.get(), device, 0));
  // With the names come the qualifiers: drivers tell only so that `consume` leaves its data as it is, and that the
  // place which produced it therefore still has it.
  program_ = build_program(context_.get(), devices, kFleetSource, "-cl-kernel-arg-info");
  increment_ = make_kernel(program_, "increment");
  produce_ = make_kernel(program_, "produce");
  produce_some_ = make_kernel(program_, "produce_some");
  consume_ = make_kernel(program_, "consume");
  add_ = make_kernel(program_, "add");
  compute_ = make_kernel(program_, "compute");
}

void Fleet::increment(size_t index, const Memory& counter, cl_event wait, cl_event* event) const {
  set_argument(increment_, 0, counter.get());
  enqueue(queue(index), increment_, 1, wait, event);
}

void Fleet::produce(size_t index, const Memory& data, size_t size, cl_uint seed, cl_event wait, cl_event* event) const {
  const auto [items, words] = divide(size);
  set_argument(produce_, 0, data.get());
  set_argument(produce_, 1, words);
  set_argument(produce_, 2, seed);
  enqueue(queue(index), produce_, items, wait, event);
}

void Fleet::produce_some(size_t index, const Memory& data, size_t size, cl_uint seed,
                         const Memory& content_size) const {
  const auto [items, words] = divide(size);
  set_argument(produce_some_, 0, data.get());
  set_argument(produce_some_, 1, words);
  set_argument(produce_some_, 2, seed);
  set_argument(produce_some_, 3, content_size.get());
  enqueue(queue(index), produce_some_, items, nullptr, nullptr);
}

void Fleet::consume(size_t index, const Memory& data, size_t size, cl_uint seed, const Memory& matching, cl_event wait,
                    cl_event* event) const {
  const auto [items, words] = divide(size);
  set_argument(consume_, 0, data.get());
  set_argument(consume_, 1, words);
  set_argument(consume_, 2, seed);
  set_argument(consume_, 3, matching.get());
  enqueue(queue(index), consume_, items, wait, event);
}

void Fleet::add(size_t index, const Memory& data, size_t size, cl_uint summand) const {
  const auto [items, words] = divide(size);
  set_argument(add_, 0, data.get());
  set_argument(add_, 1, words);
  set_argument(add_, 2, summand);
  enqueue(queue(index), add_, items, nullptr, nullptr);
}

void Fleet::compute(cl_command_queue queue, const Memory& result, cl_uint seed, cl_uint rounds, cl_event* event) const {
  set_argument(compute_, 0, result.get());
  set_argument(compute_, 1, seed);
  set_argument(compute_, 2, rounds);
  enqueue(queue, compute_, 1, nullptr, event);
}

void Fleet::migrate(size_t index, const Memory& buffer) const {
  cl_mem memory = buffer.get();
  check(clEnqueueMigrateMemObjects(queue(index), 1, &memory, 0, 0, nullptr, nullptr), "clEnqueueMigrateMemObjects");
}

void Fleet::flush(size_t index) const { check(clFlush(queue(index)), "clFlush"); }

void Fleet::finish(size_t index) const { check(clFinish(queue(index)), "clFinish"); }

void Fleet::finish_all() const {
  for (size_t index = 0; index < size(); ++index) flush(index);
  for (size_t index = 0; index < size(); ++index) finish(index);
}

void Fleet::write_int(size_t index, const Memory& buffer, cl_int value) const {
  ClSide::write(queue(index), buffer, &value, sizeof value);
}

cl_int Fleet::read_int(size_t index, const Memory& buffer) const {
  cl_int value = 0;
  ClSide::read(queue(index), buffer, &value, sizeof value);
  return value;
}

Fleets::Fleets(DeviceChoice remote, std::optional<DeviceChoice> native)
    : remote_choice_(std::move(remote)),
      native_choice_(std::move(native)),
      members_(one_of_each_server(remote_choice_)) {}

const Fleet& Fleets::remotecl() {
  if (!remotecl_) remotecl_ = std::make_unique<Fleet>(remote_choice_.platform, members_);
  return *remotecl_;
}

const Fleet* Fleets::native() {
  if (native_choice_ && !native_) {
    native_ = std::make_unique<Fleet>(native_choice_->platform,
                                      std::vector<cl_device_id>(members_.size(), native_choice_->device));
  }
  return native_.get();
}

const Fleet& Fleets::remotecl_devices(Reach reach) {
  std::unique_ptr<Fleet>& fleet = devices_[reach].remotecl;
  if (fleet) return *fleet;
  const auto type = device_value<cl_device_type>(remote_choice_.device, CL_DEVICE_TYPE);
  std::vector<cl_device_id> members = devices_of_type(remote_choice_.platform, type);
  if (reach == Reach::kFirstServer) {
    const std::string server = device_string(members.at(0), CL_DEVICE_REMOTECL_SERVER);
    std::erase_if(
        members, [&server](cl_device_id device) { return device_string(device, CL_DEVICE_REMOTECL_SERVER) != server; });
  }
  fleet = std::make_unique<Fleet>(remote_choice_.platform, std::move(members));
  return *fleet;
}

const Fleet* Fleets::native_devices(Reach reach) {
  if (!native_choice_) return nullptr;
  const size_t count = remotecl_devices(reach).size();
  std::unique_ptr<Fleet>& fleet = devices_[reach].native;
  if (fleet) return fleet.get();
  const auto type = device_value<cl_device_type>(native_choice_->device, CL_DEVICE_TYPE);
  const std::vector<cl_device_id> devices = devices_of_type(native_choice_->platform, type);
  std::vector<cl_device_id> members;
  for (size_t i = 0; i < count; ++i) members.push_back(devices.at(i % devices.size()));
  fleet = std::make_unique<Fleet>(native_choice_->platform, std::move(members));
  return fleet.get();
}

}  // namespace remotecl::bench
