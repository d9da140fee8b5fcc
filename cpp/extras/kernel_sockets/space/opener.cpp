#include "extras/kernel_sockets/space/opener.h"

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
  explicit Work(Ref<SocketBroker> broker) : broker_(std::move(broker)) {}

  void add(Order order) EXCLUDES(mutex_) {
    Order refused;
    {
      MutexLock lock(mutex_);
      orders_.push_back(std::move(order));
      if (idle_ >= orders_.size() || threads_ == kThreadsMax) {
        changed_.notify_one();
        return;
      }
      try {
        std::thread([self = Ref<Work>(this)] { self->run(); }).detach();
        ++threads_;
        return;
      } catch (const std::system_error&) {
        if (threads_ != 0) return;  // another one will do it
        refused = std::move(orders_.back());
        orders_.pop_back();
      }
    }
    BrokerReply reply = reply_of(refused);
    reply.error = EAGAIN;
    refused.reply_to->post({std::move(reply)});
  }

  void stop() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr std::size_t kThreadsMax = 4;

  static BrokerReply reply_of(const Order& order) {
    BrokerReply result;
    result.socket = order.socket;
    result.what = order.what;
    result.kind = order.address.kind;
    return result;
  }

  BrokerReply carry_out(const Order& order) {
    BrokerReply result = reply_of(order);
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
      order.reply_to->post({carry_out(order)});
      lock.lock();
    }
  }

  const Ref<SocketBroker> broker_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Order> orders_ GUARDED_BY(mutex_);
  std::size_t threads_ GUARDED_BY(mutex_) = 0, idle_ GUARDED_BY(mutex_) = 0;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
};

Opener::Opener(Ref<SocketBroker> broker) : work_(make_ref<Work>(std::move(broker))) {}
Opener::~Opener() { work_->stop(); }
void Opener::begin(Order order) { work_->add(std::move(order)); }

}  // namespace remotecl::server
