#include "server/isolation/spare_processes.h"

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>

#include "server/isolation/process_packets.h"
#include "server/util/error_words.h"
#include "server/util/log.h"

namespace remotecl::server {

SpareProcesses::SpareProcesses(ProcessCommand command) : command_(std::move(command)) {
  thread_ = std::thread([this] { run(); });
}

SpareProcesses::~SpareProcesses() {
  stop();
  {
    MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void SpareProcesses::stop() {
  std::deque<std::unique_ptr<ChildProcess>> spares;
  MutexLock lock(mutex_);
  stopped_ = true;
  spares.swap(spares_);
  changed_.notify_all();
}

// Keeps one process more than callers wait for.
void SpareProcesses::run() {
  MutexLock lock(mutex_);
  while (!ended_) {
    if (stopped_ || spares_.size() > waiting_) {
      changed_.wait(mutex_);
      continue;
    }
    try {
      spares_.push_back(std::make_unique<ChildProcess>(command_));
      changed_.notify_all();
    } catch (const std::exception& error) {
      log_error("no process for the next session: {}", words_of(error));
      changed_.wait_for(mutex_, std::chrono::seconds(1));
    }
  }
}

std::unique_ptr<ChildProcess> SpareProcesses::next(Deadline deadline) {
  MutexLock lock(mutex_);
  ++waiting_;
  changed_.notify_all();
  while (!stopped_ && spares_.empty()) {
    if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
  }
  --waiting_;
  if (stopped_ || spares_.empty()) return nullptr;
  auto process = std::move(spares_.front());
  spares_.pop_front();
  changed_.notify_all();
  return process;
}

// Logs them once, because they are the same for all processes.
void SpareProcesses::report_failures(std::string_view failures) {
  {
    MutexLock lock(mutex_);
    if (std::exchange(has_reported_, true)) return;
  }
  while (!failures.empty()) {
    const std::size_t end = std::min(failures.find('\n'), failures.size());
    log_warning("processes of sessions are not contained as they should be: {}", failures.substr(0, end));
    failures.remove_prefix(std::min(end + 1, failures.size()));
  }
}

std::unique_ptr<ChildProcess> SpareProcesses::take(Deadline deadline) {
  for (int tries = 0; tries < kTries; ++tries) {
    auto process = next(deadline);
    if (process == nullptr) return nullptr;
    const auto id = process->id();
    if (!process->await_packet(-1, deadline)) {
      log_error("process {} has not opened its driver in time", id);
      return nullptr;
    }
    const auto packet = process->channel().receive();
    ReadyMessage message;
    if (!packet) {
      log_error("process {}, which was to serve the next session, {}", id, process->end().text());
    } else if (std::string wrong = objection(*packet, ProcessState::kStarting); !wrong.empty()) {
      log_error("process {}, which was to serve the next session, is ended: it {}", id, wrong);
    } else if (!packet->read(message)) {
      log_error("process {}, which was to serve the next session, is ended: it {}", id, malformed(packet->type));
    } else {
      report_failures(message.failures);
      return process;
    }
  }
  return nullptr;
}

}  // namespace remotecl::server
