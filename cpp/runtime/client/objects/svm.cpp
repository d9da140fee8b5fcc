#include "runtime/client/objects/svm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "runtime/base/mutex.h"
#include "runtime/client/objects/platform.h"
#include "runtime/client/session/request.h"

namespace remotecl {
namespace {

// A region that programs, libraries, heaps and sanitizers of this system do not use.
#ifdef __SANITIZE_THREAD__  // which itself uses the other region
constexpr std::uint64_t kRegionBegin = 0x10'0000'0000;
constexpr std::uint64_t kRegionSize = 0x60'0000'0000;
#else
constexpr std::uint64_t kRegionBegin = 0x6800'0000'0000;
constexpr std::uint64_t kRegionSize = 0x0700'0000'0000;
#endif
constexpr std::uint64_t kGranule = 64u << 10;  // a multiple of all common page sizes
constexpr int kAttempts = 8;
constexpr int kProposals = kAttempts - 2;
// To learn that there is no memory of this size is worth a round trip, which is short beside filling it.
constexpr std::uint64_t kAskedSizeMin = 16u << 20;

// Pages of this process at a given address. The destructor unmaps them.
class Pages {
 public:
  // With `address` 0, the system chooses. Returns null if the address is taken.
  static std::shared_ptr<Pages> map(std::uint64_t address, std::uint64_t size) {
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    const std::uint64_t begin = address / page * page;
    const std::uint64_t length = (address - begin + size + page - 1) / page * page;
    void* const wanted = reinterpret_cast<void*>(begin);
    const int fixed = address == 0 ? 0 : MAP_FIXED_NOREPLACE;
    void* const got =
        ::mmap(wanted, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    auto pages = std::make_shared<Pages>(got, length);
    return address == 0 || got == wanted ? pages : nullptr;
  }

  Pages(void* begin, std::uint64_t length) : begin_(begin), length_(length) {}
  ~Pages() { ::munmap(begin_, length_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(begin_); }

 private:
  void* const begin_;
  const std::uint64_t length_;
};

std::uint64_t random_number() {
  static Mutex mutex;
  static std::mt19937_64 generator{std::random_device{}()};
  const MutexLock lock(mutex);
  return generator();
}

// An address that is free here and probably everywhere else. The last attempts let the system choose, because
// some environments use nearly the whole address space themselves.
std::shared_ptr<Pages> propose(int attempt, std::uint64_t size, std::uint64_t alignment) {
  if (attempt >= kProposals) {
    auto pages = Pages::map(0, size + alignment);
    if (!pages) return nullptr;
    const std::uint64_t address = (pages->address() + alignment - 1) / alignment * alignment;
    pages.reset();
    return Pages::map(address, size);
  }
  const std::uint64_t step = std::max(alignment, kGranule);
  if (size >= kRegionSize || step >= kRegionSize) return nullptr;
  const std::uint64_t address = kRegionBegin + random_number() % (kRegionSize - size);
  return Pages::map(address / step * step, size);
}

bool takes_any_address(const Device& device) {
  const auto native = device.number<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
  return (native & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM) != 0 ||
         ((device.type() & CL_DEVICE_TYPE_CPU) != 0 &&
          device.number<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE);
}

struct SvmDevices {
  Session* session;
  std::vector<std::uint32_t> indices;
  bool take_any_address = true;
};

std::vector<SvmDevices> devices_by_session(Context& context) {
  std::vector<SvmDevices> result;
  for (Device* device : context.devices()) {
    if (svm_capabilities(*device) == 0 || device->session().lost()) continue;
    const auto same = [device](const SvmDevices& entry) { return entry.session == &device->session(); };
    auto at = std::find_if(result.begin(), result.end(), same);
    if (at == result.end()) at = result.insert(at, SvmDevices{&device->session(), {}});
    at->indices.push_back(device->index());
    at->take_any_address = at->take_any_address && takes_any_address(*device);
  }
  return result;
}

// With token 0 there is no answer.
void request(const SvmDevices& devices, ObjectId id, Token token, cl_mem_flags flags, std::uint64_t size,
             std::uint64_t alignment, std::uint64_t address) {
  devices.session->send(
      AllocateSvm{id, token, std::span<const std::uint32_t>(devices.indices), flags, size, alignment, address});
}

// Returns the address that the server gave, or 0.
std::uint64_t ask_address(const SvmDevices& devices, ObjectId id, cl_mem_flags flags, std::uint64_t size,
                          std::uint64_t alignment, std::uint64_t address) {
  return ask<SvmAllocated>(
             *devices.session, [&](Token token) { request(devices, id, token, flags, size, alignment, address); },
             [](const SvmAllocated& report) { return report.error == CL_SUCCESS ? report.address : 0; })
      .value_or(0);
}

// One attempt to get the memory at the same address everywhere. What it got but cannot use is kept until all
// attempts have ended, so that the next one gets something else.
struct Attempt {
  const ObjectId id = next_id();
  std::vector<Session*> granted;
  std::shared_ptr<Pages> pages;
  std::uint64_t address = 0;

  ~Attempt() {
    for (Session* session : granted) session->send(ReleaseBuffer{id});
  }
  void request_everywhere(const std::vector<SvmDevices>& servers, cl_mem_flags flags, std::uint64_t size,
                          std::uint64_t alignment) {
    address = pages->address();
    for (const SvmDevices& one : servers) {
      request(one, id, 0, flags, size, alignment, address);
      granted.push_back(one.session);
    }
  }
  IndexSet keep() {
    IndexSet created_on;
    for (Session* session : granted) created_on.add(session->index());
    granted.clear();
    return created_on;
  }
};

// Returns true if it has succeeded. A server whose driver insists on its own address comes first in the next
// attempt.
bool try_everywhere(Attempt& attempt, std::vector<SvmDevices>& servers, cl_mem_flags flags, std::uint64_t size,
                    std::uint64_t alignment) {
  attempt.address = attempt.pages->address();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const std::uint64_t got = ask_address(servers[i], attempt.id, flags, size, alignment, attempt.address);
    if (got == 0) return false;
    attempt.granted.push_back(servers[i].session);
    if (got == attempt.address) continue;
    if (i != 0) {
      std::rotate(servers.begin(), servers.begin() + static_cast<std::ptrdiff_t>(i),
                  servers.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return false;
    }
    attempt.address = got;
    attempt.pages = Pages::map(got, size);
    if (!attempt.pages) return false;
  }
  return true;
}

struct Table {
  std::atomic<std::size_t> size{0};  // lets programs without shared virtual memory avoid the mutex
  Mutex mutex;
  std::map<std::uint64_t, Ref<MemoryObject>> by_address GUARDED_BY(mutex);
  // The region was free in the processes of these sessions, which stay in memory for ever.
  std::set<const Session*> proven GUARDED_BY(mutex);
};
Table& table() {
  static auto& table = *new Table;
  return table;
}

// Whether all agree on an address of the region without being asked.
bool needs_no_answer(const std::vector<SvmDevices>& servers, std::size_t size) {
  if (size >= kAskedSizeMin) return false;
  Table& all = table();
  const MutexLock lock(all.mutex);
  for (const SvmDevices& one : servers) {
    if (!all.proven.contains(one.session)) return false;
  }
  return true;
}

// Every server has taken the address that this process has proposed.
void note_proven(const std::vector<SvmDevices>& servers) {
  const MutexLock lock(table().mutex);
  for (const SvmDevices& one : servers) {
    if (one.take_any_address) table().proven.insert(one.session);
  }
}

void* add(Context& context, cl_mem_flags flags, std::size_t size, Attempt& attempt) {
  void* const address = reinterpret_cast<void*>(attempt.address);
  auto memory = make_ref<MemoryObject>(Ref<Context>(&context), flags, size, address, std::move(attempt.pages),
                                       attempt.id, attempt.keep());
  const MutexLock lock(table().mutex);
  table().by_address.emplace(attempt.address, std::move(memory));
  table().size.store(table().by_address.size());
  return address;
}

}  // namespace

cl_device_svm_capabilities svm_capabilities(const Device& device) {
  if (device.is_automatic()) {
    cl_device_svm_capabilities common = CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
    for (const Device* member : device.members()) common &= svm_capabilities(*member);
    return common;
  }
  if (device.number<cl_uint>(CL_DEVICE_ADDRESS_BITS) != 8 * sizeof(void*)) return 0;
  const auto native = device.number<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
  if (takes_any_address(device)) return native & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  // Its driver chooses addresses. In a context with another such device, the two would never agree.
  const std::vector<Device*> all = Platform::instance().devices();
  const auto chooses = [](const Device* one) {
    return !takes_any_address(*one) && one->number<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES) != 0;
  };
  return std::count_if(all.begin(), all.end(), chooses) == 1 ? native & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER : 0;
}

void* allocate_svm(Context& context, cl_mem_flags flags, std::size_t size, std::size_t alignment) {
  std::vector<SvmDevices> servers = devices_by_session(context);
  if (servers.empty()) return nullptr;
  const bool waits = !needs_no_answer(servers, size);
  std::vector<std::unique_ptr<Attempt>> attempts;
  for (int i = 0; i < kAttempts; ++i) {
    Attempt& attempt = *attempts.emplace_back(std::make_unique<Attempt>());
    attempt.pages = propose(i, size, alignment);
    if (!attempt.pages) continue;
    if (waits || i >= kProposals) {
      if (!try_everywhere(attempt, servers, flags, size, alignment)) continue;
      if (i < kProposals) note_proven(servers);
    } else {
      attempt.request_everywhere(servers, flags, size, alignment);
    }
    return add(context, flags, size, attempt);
  }
  return nullptr;
}

void free_svm(const Context& context, void* pointer) {
  Ref<MemoryObject> memory;  // destroyed after unlocking
  const MutexLock lock(table().mutex);
  const auto at = table().by_address.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (at == table().by_address.end() || &at->second->context() != &context) return;
  memory = std::move(at->second);
  table().by_address.erase(at);
  table().size.store(table().by_address.size());
}

SvmAddress find_svm(const Context& context, const void* pointer) {
  if (table().size.load(std::memory_order_relaxed) == 0) return {};
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const MutexLock lock(table().mutex);
  auto after = table().by_address.upper_bound(address);
  if (after == table().by_address.begin()) return {};
  const auto& [begin, memory] = *std::prev(after);
  if (address - begin > memory->size() || &memory->context() != &context) return {};
  return {memory, address - begin};
}

}  // namespace remotecl
