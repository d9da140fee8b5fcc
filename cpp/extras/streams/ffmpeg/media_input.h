#pragma once

#include <memory>
#include <string>

#include "extras/streams/ffmpeg/libav.h"
#include "extras/streams/support/open_file.h"
#include "extras/streams/support/rules.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {

// Where FFmpeg's bytes come from. A stream that is opened here by descriptor cannot lead to another file or address,
// because FFmpeg gets only its bytes and no protocol to open more.
class MediaInput {
 public:
  // Throws PluginError.
  static std::unique_ptr<MediaInput> open(const StreamName& name, const Rules& rules);
  ~MediaInput();
  MediaInput(const MediaInput&) = delete;
  MediaInput& operator=(const MediaInput&) = delete;

  libav::AVFormatContext* context() const { return context_; }
  // Of the stream with that index.
  void* parameters(int index) const;
  libav::Rational time_base(int index) const;
  // Delivers at a rate of its own, unlike a file.
  bool is_live() const { return is_live_; }

 private:
  MediaInput() = default;
  void open_bytes(File file, bool can_seek, int patience_ms);
  void open_camera(const StreamName& name);
  void open_address(const StreamName& name);
  static int read(void* input, std::uint8_t* to, int size);
  static std::int64_t seek(void* input, std::int64_t offset, int whence);

  File file_;
  bool is_live_ = false;
  int patience_ms_ = 0;
  libav::AVIOContext* io_ = nullptr;
  libav::AVFormatContext* context_ = nullptr;
};

}  // namespace remotecl::plugins
