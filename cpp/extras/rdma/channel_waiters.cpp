#include "extras/rdma/channel_waiters.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <system_error>
#include <utility>

namespace remotecl {
namespace {

int make_poll_handle(std::initializer_list<int> watched) {
  const int handle = ::epoll_create1(EPOLL_CLOEXEC);
  if (handle < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  for (const int descriptor : watched) {
    epoll_event event{};
    event.events = EPOLLIN;
    ::epoll_ctl(handle, EPOLL_CTL_ADD, descriptor, &event);
  }
  return handle;
}

}  // namespace

ChannelWaiters::ChannelWaiters(int completions, int connection)
    : completions_(completions),
      connection_(connection),
      poll_handle_(make_poll_handle({completions, connection, ready_.handle()})) {}

ChannelWaiters::~ChannelWaiters() { ::close(poll_handle_); }

ChannelWaiters::Readable ChannelWaiters::sleep(Mutex& mutex, std::chrono::milliseconds time) {
  is_sleeping_ = true;
  mutex.unlock();
  std::array<pollfd, 3> waiting = {{{completions_, POLLIN, 0}, {connection_, POLLIN, 0}, {kick_.handle(), POLLIN, 0}}};
  const bool is_quiet = ::poll(waiting.data(), waiting.size(), static_cast<int>(time.count())) == 0;
  mutex.lock();
  is_sleeping_ = false;
  if (waiting[2].revents != 0) kick_.clear();
  return {waiting[0].revents != 0, waiting[1].revents != 0, is_quiet};
}

void ChannelWaiters::wake_sleeper() {
  if (!is_sleeping_) return;
  kick_.set();
  changed_.notify_all();
}

bool ChannelWaiters::set_ready() {
  if (std::exchange(is_ready_, true)) return false;
  ready_.set();
  return true;
}

bool ChannelWaiters::begin_polling() {
  const bool was_ready = std::exchange(is_ready_, false);
  if (was_ready) ready_.clear();
  polls_in_vain_ = polled_at_ == events_ ? polls_in_vain_ + 1 : 0;
  polled_at_ = events_;
  is_polled_ = true;
  return was_ready;
}

}  // namespace remotecl
