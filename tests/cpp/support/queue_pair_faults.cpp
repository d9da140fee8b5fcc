#include "support/queue_pair_faults.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/fault_file.h"

namespace remotecl::testing {
namespace {

constexpr const char* kSetting = "REMOTECL_TEST_QUEUE_PAIR_FAULTS";

std::atomic<QueuePairFaultsState*> g_state{nullptr};
std::atomic<bool> g_is_client{false};

// Of another program that was started with the library.
[[maybe_unused]] const bool g_is_told = [] {
  const char* const path = std::getenv(kSetting);
  return path != nullptr && use_queue_pair_faults(path);
}();

// The library's own functions, which are loaded by whoever has called.
struct Verbs {
  static const Verbs& get() {
    static const Verbs verbs;
    return verbs;
  }

  decltype(&::ibv_create_qp) create = nullptr;
  decltype(&::ibv_destroy_qp) destroy = nullptr;
  decltype(&::ibv_modify_qp) modify = nullptr;
  decltype(&::ibv_query_qp) query = nullptr;

 private:
  Verbs() {
    void* const library = ::dlopen("libibverbs.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) std::abort();
    create = reinterpret_cast<decltype(create)>(::dlsym(library, "ibv_create_qp"));
    destroy = reinterpret_cast<decltype(destroy)>(::dlsym(library, "ibv_destroy_qp"));
    modify = reinterpret_cast<decltype(modify)>(::dlsym(library, "ibv_modify_qp"));
    query = reinterpret_cast<decltype(query)>(::dlsym(library, "ibv_query_qp"));
  }
};

using PostSend = int (*)(ibv_qp*, ibv_send_wr*, ibv_send_wr**);

// The queue pairs of this process that are not in error by a fault.
class Pairs {
 public:
  static Pairs& get() {
    static Pairs& pairs = *new Pairs;  // never destroyed: other libraries' threads may outlive static objects
    return pairs;
  }

  void add(ibv_qp* pair) {
    const std::lock_guard lock(mutex_);
    pairs_.push_back(pair);
    QueuePairFaultsState* const state = queue_pair_faults();
    if (state == nullptr) return;
    ++state->made;
    ++state->usable;
    state->is_of_client[pair->qp_num % state->kNumbers] = g_is_client.load();
    PostSend& post = pair->context->ops.post_send;
    if (post == &post_send) return;
    post_ = post;
    post = &post_send;
  }

  void remove(ibv_qp* pair) {
    const std::lock_guard lock(mutex_);
    if (std::erase(pairs_, pair) != 0 && queue_pair_faults() != nullptr) --queue_pair_faults()->usable;
  }

 private:
  static int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** refused) {
    QueuePairFaultsState& state = *queue_pair_faults();
    const std::uint32_t one_in = state.one_in.load(std::memory_order_relaxed);
    const std::uint64_t random = one_in == 0 ? 1 : mixed(state.seed + state.requests.fetch_add(1));
    const bool fails = one_in != 0 && random % one_in == 0, comes_first = (random >> 32) % 2 == 0;
    if (fails && comes_first) get().fail_one(pair, mixed(random));
    const int result = get().post_(pair, request, refused);
    if (fails && !comes_first) get().fail_one(pair, mixed(random));
    return result;
  }

  // This one, or another one in its place.
  void fail_one(ibv_qp* pair, std::uint64_t random) {
    const std::lock_guard lock(mutex_);
    if (random % 2 == 0 && !pairs_.empty()) pair = pairs_[(random >> 8) % pairs_.size()];
    ibv_qp_attr attributes{};
    ibv_qp_init_attr initial{};
    if (Verbs::get().query(pair, &attributes, IBV_QP_STATE | IBV_QP_DEST_QPN, &initial) != 0) return;
    if (attributes.qp_state != IBV_QPS_RTS || std::erase(pairs_, pair) == 0) return;
    QueuePairFaultsState& state = *queue_pair_faults();
    const bool is_of_client = state.is_of_client[attributes.dest_qp_num % state.kNumbers];
    const auto kind = g_is_client    ? QueuePairFaults::kInClient
                      : is_of_client ? QueuePairFaults::kInServerOfClient
                                     : QueuePairFaults::kInServerOfServer;
    attributes = {};
    attributes.qp_state = IBV_QPS_ERR;
    if (Verbs::get().modify(pair, &attributes, IBV_QP_STATE) != 0) return;
    ++state.counts[kind];
    --state.usable;
  }

  std::mutex mutex_;
  std::vector<ibv_qp*> pairs_;
  PostSend post_ = nullptr;  // of the device; set before any request is posted
};

}  // namespace

QueuePairFaults::QueuePairFaults(std::string path, std::uint64_t seed) : path_(std::move(path)) {
  make_fault_file<QueuePairFaultsState>(path_);
  if (!use_queue_pair_faults(path_.c_str())) throw std::runtime_error("cannot use " + path_);
  queue_pair_faults()->seed = seed;
  g_is_client = true;
}

QueuePairFaults::~QueuePairFaults() {
  set_one_in(0);
  ::unlink(path_.c_str());
}

std::string QueuePairFaults::preloaded() const { return preloaded_with(&use_queue_pair_faults); }

std::string QueuePairFaults::setting() const { return std::string(kSetting) + "=" + path_; }

void QueuePairFaults::set_one_in(std::uint32_t requests) { queue_pair_faults()->one_in = requests; }

std::array<std::uint64_t, QueuePairFaults::kKinds> QueuePairFaults::counts() const {
  std::array<std::uint64_t, kKinds> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = queue_pair_faults()->counts[i];
  return counts;
}

std::uint64_t QueuePairFaults::total() const {
  const auto all = counts();
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
}

std::uint64_t QueuePairFaults::made() const { return queue_pair_faults()->made; }
int QueuePairFaults::usable() const { return static_cast<int>(queue_pair_faults()->usable); }

QueuePairFaultsState* queue_pair_faults() { return g_state; }

bool use_queue_pair_faults(const char* path) {
  QueuePairFaultsState* const state = map_fault_file<QueuePairFaultsState>(path);
  if (state == nullptr) return false;
  g_state.store(state, std::memory_order_release);
  return true;
}

}  // namespace remotecl::testing

// In the place of libibverbs'. librdmacm calls them.
using remotecl::testing::Pairs;
using remotecl::testing::Verbs;

#pragma GCC visibility push(default)
extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  ibv_qp* const pair = Verbs::get().create(domain, attributes);
  if (pair != nullptr) Pairs::get().add(pair);
  return pair;
}

int ibv_destroy_qp(ibv_qp* pair) {
  Pairs::get().remove(pair);
  return Verbs::get().destroy(pair);
}

}  // extern "C"
#pragma GCC visibility pop
