#include "runtime/client/session/background_reader.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "runtime/client/session/inbox_reader.h"
#include "runtime/client/support/fork_guard.h"

namespace remotecl {

BackgroundReader& BackgroundReader::least_loaded() {
  static Mutex& mutex = *new Mutex;  // never destroyed, like the threads
  static auto& readers = *new std::vector<BackgroundReader*>;
  const MutexLock lock(mutex);
  const auto least = std::min_element(readers.begin(), readers.end(),
                                      [](const auto* one, const auto* other) { return one->load() < other->load(); });
  const bool is_free = least != readers.end() && (*least)->load() == 0;
  if (is_free || readers.size() == kThreadsMax) return **least;
  readers.reserve(kThreadsMax);
  readers.push_back(new BackgroundReader);
  return *readers.back();
}

BackgroundReader::BackgroundReader() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (wake_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  give_up_in_child(wake_);
  try {
    std::thread([this] { run(); }).detach();
  } catch (...) {
    forget_in_child(wake_);
    ::close(wake_);
    throw;
  }
}

std::size_t BackgroundReader::load() const {
  const MutexLock lock(mutex_);
  return sessions_.size();
}

void BackgroundReader::add(InboxReader& session) {
  {
    const MutexLock lock(mutex_);
    sessions_.push_back(&session);
  }
  wake();
}

void BackgroundReader::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_, &one, sizeof one);
}

int BackgroundReader::prepare() {
  using Standing = InboxReader::Standing;
  std::vector<InboxReader*> sessions, over;
  {
    const MutexLock lock(mutex_);
    sessions = sessions_;
  }
  polled_.assign(1, {wake_, POLLIN, 0});
  armed_.clear();
  auto next = InboxReader::Time::max();
  const auto now = std::chrono::steady_clock::now();
  for (InboxReader* const session : sessions) {
    const std::size_t first = polled_.size();
    const Standing standing = session->stand_by(now, polled_, next);
    if (standing == Standing::kReads) armed_.push_back({session, first, polled_.size()});
    if (standing == Standing::kOver) over.push_back(session);
  }
  for (InboxReader* const session : over) {
    {
      const MutexLock lock(mutex_);
      std::erase(sessions_, session);
    }
    session->begin_end();  // the session may be gone afterwards
  }
  if (next == InboxReader::Time::max()) return -1;
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
}

void BackgroundReader::run() {
  for (;;) {
    const int timeout = prepare();
    if (::poll(polled_.data(), polled_.size(), timeout) <= 0) continue;
    if (polled_[0].revents != 0) {
      std::uint64_t rings = 0;
      [[maybe_unused]] const auto taken = ::read(wake_, &rings, sizeof rings);
    }
    for (const Armed& armed : armed_) {
      const auto begin = polled_.begin() + static_cast<std::ptrdiff_t>(armed.first);
      const auto end = polled_.begin() + static_cast<std::ptrdiff_t>(armed.last);
      if (std::any_of(begin, end, [](const pollfd& one) { return one.revents != 0; })) armed.session->read_now();
    }
  }
}

}  // namespace remotecl
