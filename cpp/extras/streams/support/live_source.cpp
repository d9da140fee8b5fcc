#include "extras/streams/support/live_source.h"

#include <cstring>
#include <utility>

#include "extras/streams/support/plugin_error.h"

namespace remotecl::plugins {

LiveSource::LiveSource(Receive receive, bool keeps_newest, std::size_t depth, std::chrono::milliseconds patience)
    : receive_(std::move(receive)), keeps_newest_(keeps_newest), depth_(depth), patience_(patience), thread_([this] {
        run();
      }) {}

LiveSource::~LiveSource() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool LiveSource::is_lost() const {
  const MutexLock lock(mutex_);
  return error_ != nullptr && frames_.empty();
}

void LiveSource::run() {
  bool is_over = false;
  try {
    while (!is_over) {
      {
        const MutexLock lock(mutex_);
        while (!keeps_newest_ && !is_stopping_ && frames_.size() >= depth_) changed_.wait(mutex_);
        if (is_stopping_) return;
      }
      if (auto frame = receive_(is_over)) keep(std::move(*frame));
    }
  } catch (const PluginError& error) {
    const MutexLock lock(mutex_);
    error_ = std::make_unique<PluginError>(error);
  } catch (const std::exception& error) {
    const MutexLock lock(mutex_);
    error_ = std::make_unique<PluginError>(kBroken, error.what());
  }
  {
    const MutexLock lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
}

void LiveSource::keep(Frame frame) {
  {
    const MutexLock lock(mutex_);
    if (keeps_newest_ && !frames_.empty()) {
      dropped_ += 1 + frames_.front().info.dropped;
      frames_.clear();
    }
    frame.info.dropped += std::exchange(dropped_, 0);
    frames_.push_back(std::move(frame));
  }
  changed_.notify_all();
}

std::optional<FrameInfo> LiveSource::find() {
  MutexLock lock(mutex_);
  const auto end = std::chrono::steady_clock::now() + patience_;
  while (frames_.empty() && !is_over_) {
    if (changed_.wait_until(mutex_, end) == std::cv_status::timeout) break;
  }
  if (!frames_.empty()) {
    found_ = std::move(frames_.front());
    frames_.pop_front();
    lock.unlock();
    changed_.notify_all();
    found_.info.size = found_.bytes.size();
    return found_.info;
  }
  if (error_) throw *error_;
  if (is_over_) return std::nullopt;
  throw PluginError(kGone, "no frame came within " + std::to_string(patience_.count()) + " ms (wait=)");
}

void LiveSource::put(std::span<std::byte> to) {
  if (!found_.bytes.empty()) std::memcpy(to.data(), found_.bytes.data(), found_.bytes.size());
}

}  // namespace remotecl::plugins
