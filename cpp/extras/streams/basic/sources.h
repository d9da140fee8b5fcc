#pragma once

#include <memory>
#include <span>

#include "extras/streams/support/rules.h"
#include "extras/streams/support/source.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {

// Each opens what the name says, if the rules allow it. Throws PluginError.
std::unique_ptr<Source> open_file_source(const StreamName& name, const Rules& rules);
// How many bytes a source of file: has from its beginning to its end.
std::uint64_t size_of_file_source(const StreamName& name, const Rules& rules);
std::unique_ptr<Source> open_folder_source(const StreamName& name, const Rules& rules);
std::unique_ptr<Source> open_tcp_source(const StreamName& name, const Rules& rules);
std::unique_ptr<Source> open_udp_source(const StreamName& name, const Rules& rules);
std::unique_ptr<Source> open_ring_source(const StreamName& name, const Rules& rules);

// Something that frames go to. One thread at a time.
class Sink {
 public:
  virtual ~Sink() = default;
  // Throws PluginError; then nothing of the frame is there, or the sink is lost.
  virtual void write(std::span<const std::byte> frame) = 0;
  // Nothing can follow what was written, because of an error that write() has thrown.
  virtual bool is_lost() const { return false; }
};

std::unique_ptr<Sink> open_sink(const StreamName& name, const Rules& rules);

// Bounds of what a stream keeps.
constexpr std::uint64_t kFrameMax = std::uint64_t{256} << 20;  // bytes
constexpr std::uint64_t kFrameUsual = std::uint64_t{16} << 20;
constexpr std::uint64_t kDepthMax = 64;  // frames
constexpr std::uint64_t kDepthUsual = 8;

}  // namespace remotecl::plugins
