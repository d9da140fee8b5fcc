#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/source.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {

// The streams of one program, each open since the first call that named it. One thread.
template <class T>
class OpenStreams {
 public:
  explicit OpenStreams(std::size_t most) : most_(most) {}

  T& get(const StreamName& name, auto&& make) {
    const auto found = open_.find(name.text());
    if (found != open_.end()) return *found->second;
    if (open_.size() >= most_) {
      throw PluginError(kBroken, "a program has at most " + std::to_string(most_) + " streams");
    }
    std::unique_ptr<T> made = make();
    return *(open_[name.text()] = std::move(made));
  }
  void close(const StreamName& name) { open_.erase(name.text()); }

 private:
  const std::size_t most_;
  std::map<std::string, std::unique_ptr<T>> open_;
};

// Does `work` with a stream. Closes a stream that is lost, so that the next call opens it anew: the camera may have
// been plugged in again.
template <class T>
auto with_stream(OpenStreams<T>& streams, const StreamName& name, auto&& make, auto&& work) {
  T& stream = streams.get(name, make);
  try {
    return work(stream);
  } catch (const PluginError&) {
    if (stream.is_lost()) streams.close(name);
    throw;
  }
}

// A source's next frame.
FrameInfo read_from(OpenStreams<Source>& sources, const StreamName& name, std::span<std::byte> to, auto&& make) {
  return with_stream(sources, name, make, [to](Source& source) { return source.read(to); });
}

}  // namespace remotecl::plugins
