#include "server/network/opener.h"

#include <atomic>
#include <cerrno>
#include <deque>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"

namespace remotecl::server {

// Shared by the opener and its threads, whichever lasts longest.
class Opener::Work final : public RefCounted {
 public:
  Work(Ref<SocketBroker> broker, Ref<WakeList> list) : broker_(std::move(broker)), list_(std::move(list)) {}

  void add(Order order) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    orders_.push_back(std::move(order));
    if (idle_ >= orders_.size() || threads_ == kThreadsMax) {
      changed_.notify_one();
      return;
    }
    try {
      std::thread([self = Ref<Work>(this)] { self->run(); }).detach();
      ++threads_;
    } catch (const std::system_error&) {
      if (threads_ != 0) return;  // another one will do it
      Result failed = result_of(orders_.back());
      orders_.pop_back();
      failed.error = EAGAIN;
      results_.push_back(std::move(failed));
      has_results_ = true;
    }
  }

  void stop() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }

  bool has_results() const { return has_results_; }
  std::vector<Result> take() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    has_results_ = false;
    return std::exchange(results_, {});
  }

 private:
  static constexpr std::size_t kThreadsMax = 4;

  static Result result_of(const Order& order) {
    Result result;
    result.socket = order.socket;
    result.what = order.what;
    result.kind = order.address.kind;
    return result;
  }

  Result carry_out(const Order& order) {
    Result result = result_of(order);
    int got = 0;
    switch (order.what) {
      case What::kConnect:
        got = broker_->connect(order.address);
        break;
      case What::kBind:
        got = broker_->bind(order.address, order.backlog, result.port);
        break;
      case What::kResolve:
        got = broker_->resolve(order.address, result.peer);
        break;
    }
    if (got < 0) {
      result.error = -got;
    } else if (order.what != What::kResolve) {
      result.descriptor = Descriptor(got);
    }
    return result;
  }

  void run() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (!is_stopped_) {
      if (orders_.empty()) {
        ++idle_;
        changed_.wait(mutex_);
        --idle_;
        continue;
      }
      const Order order = std::move(orders_.front());
      orders_.pop_front();
      lock.unlock();
      Result result = carry_out(order);
      lock.lock();
      results_.push_back(std::move(result));
      has_results_ = true;
      lock.unlock();
      list_->wake();
      lock.lock();
    }
  }

  const Ref<SocketBroker> broker_;
  const Ref<WakeList> list_;
  std::atomic<bool> has_results_{false};
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Order> orders_ GUARDED_BY(mutex_);
  std::vector<Result> results_ GUARDED_BY(mutex_);
  std::size_t threads_ GUARDED_BY(mutex_) = 0, idle_ GUARDED_BY(mutex_) = 0;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

Opener::Opener(Ref<SocketBroker> broker, Ref<WakeList> list)
    : work_(make_ref<Work>(std::move(broker), std::move(list))) {}
Opener::~Opener() { work_->stop(); }
void Opener::begin(Order order) { work_->add(std::move(order)); }
bool Opener::has_results() const { return work_->has_results(); }
std::vector<Opener::Result> Opener::take() { return work_->take(); }

}  // namespace remotecl::server
