#include "extras/rdma/registered_memory.h"

#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace remotecl {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint32_t kSoftRoce = 0xffffff;  // the vendor id that rdma_rxe reports

std::atomic<bool> all_windows_count{false};

std::string size_text(std::size_t bytes) {
  return bytes < (1u << 20) ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}

// Returns why memory could not be registered, and the remedy.
std::string failure_text(std::size_t size, int error) {
  std::string text = size_text(size) + " of memory cannot be registered for RDMA: ";
  rlimit limit{};
  const bool is_limited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (error != ENOMEM || !is_limited) return text + error_text(error);
  return text + "this process may lock " + size_text(limit.rlim_cur) +
         " (ulimit -l). Raise it with \"ulimit -l unlimited\", with memlock in /etc/security/limits.conf or with "
         "LimitMEMLOCK=infinity in a systemd unit";
}

std::byte* pages(std::size_t size) {
  void* const memory = std::aligned_alloc(kPage, size);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, size);
  return static_cast<std::byte*>(memory);
}

}  // namespace

ProtectionDomain::ProtectionDomain(std::shared_ptr<CmId> id) : id_(std::move(id)) {
  ibv_context* const device = id_->get()->verbs;
  ibv_device_attr attributes{};
  if (library().verbs.query_device(device, &attributes) != 0) throw ConnectionError("an RDMA device does not answer");
  has_windows_ = (attributes.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0 &&
                 (attributes.vendor_id != kSoftRoce || all_windows_count);
  domain_ = library().verbs.alloc_pd(device);
  if (domain_ == nullptr) throw ConnectionError("RDMA: no protection domain: " + error_text(errno));
}

void ProtectionDomain::count_all_windows() { all_windows_count = true; }

RegisteredMemory::RegisteredMemory(std::shared_ptr<const ProtectionDomain> domain, MutableBytes memory,
                                   bool is_open_to_peer)
    : domain_(std::move(domain)), memory_(memory) {
  int access = IBV_ACCESS_LOCAL_WRITE;
  if (is_open_to_peer) {
    access |= IBV_ACCESS_REMOTE_WRITE;
  } else if (domain_->has_windows()) {
    access |= IBV_ACCESS_MW_BIND;
  }
  domain_->note_system_call();
  region_ = domain_->library().verbs.reg_mr(domain_->get(), memory_.data(), memory_.size(), access);
  if (region_ == nullptr) throw ConnectionError(failure_text(memory_.size(), errno));
}

RegisteredMemory::~RegisteredMemory() {
  domain_->note_system_call();
  domain_->library().verbs.dereg_mr(region_);
}

bool RegisteredMemory::contains(Bytes bytes) const {
  return bytes.data() >= memory_.data() && bytes.data() + bytes.size() <= memory_.data() + memory_.size();
}

OwnMemory::OwnMemory(std::shared_ptr<const ProtectionDomain> domain, std::size_t size)
    : size_((size + kPage - 1) / kPage * kPage), pages_(pages(size_)), registration_(std::move(domain), bytes()) {}

}  // namespace remotecl
