#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/source.h"
#include "runtime/base/mutex.h"

namespace remotecl::plugins {

// A source that delivers at a rate of its own: a thread takes its frames, so that a slow reader does not hold it up
// beyond a bound. With `newest` only the last frame is kept; otherwise up to `depth`, and then the source waits.
class LiveSource : public Source {
 public:
  // Waits a short time for one frame; nothing if none has come yet. Throws PluginError. `is_over` may be set.
  using Receive = std::function<std::optional<Frame>(bool& is_over)>;

  LiveSource(Receive receive, bool keeps_newest, std::size_t depth, std::chrono::milliseconds patience);
  ~LiveSource() override;
  bool is_lost() const override;

 protected:
  std::optional<FrameInfo> find() override;
  void put(std::span<std::byte> to) override;

 private:
  void run();
  void keep(Frame frame);

  const Receive receive_;
  const bool keeps_newest_;
  const std::size_t depth_;
  const std::chrono::milliseconds patience_;
  Frame found_;  // used by the reader only
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::deque<Frame> frames_ GUARDED_BY(mutex_);
  std::uint64_t dropped_ GUARDED_BY(mutex_) = 0;
  bool is_over_ GUARDED_BY(mutex_) = false;
  bool is_stopping_ GUARDED_BY(mutex_) = false;
  std::unique_ptr<PluginError> error_ GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace remotecl::plugins
