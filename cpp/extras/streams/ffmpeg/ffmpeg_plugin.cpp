// The device "remotecl FFmpeg": remotecl.read, remotecl.decode and remotecl.encode.
#include <cstring>
#include <memory>
#include <string>

#include "extras/streams/ffmpeg/codec.h"
#include "extras/streams/ffmpeg/video_source.h"
#include "extras/streams/support/call_arguments.h"
#include "extras/streams/support/open_streams.h"
#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/plugin_functions.h"
#include "extras/streams/support/rules.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {
namespace {

constexpr std::size_t kStreamsMax = 16;  // of one program

Rules& the_rules() {
  static Rules rules({});
  return rules;
}

struct Codecs {
  OpenStreams<Source> videos{kStreamsMax};
  OpenStreams<PacketDecoder> decoders{kStreamsMax};
  OpenStreams<PictureEncoder> encoders{kStreamsMax};
};

// A codec is named without a scheme: h264?format=rgba.
StreamName codec_name(std::string_view text) { return StreamName("codec:" + std::string(text)); }

// Copies the frame, if there is one.
FrameInfo put(const std::optional<Frame>& frame, std::span<std::byte> to) {
  if (!frame) return {};
  if (frame->bytes.size() > to.size()) {
    throw PluginError(kTooSmall, "the frame has " + std::to_string(frame->bytes.size()) + " bytes, and the buffer " +
                                     std::to_string(to.size()));
  }
  if (!frame->bytes.empty()) std::memcpy(to.data(), frame->bytes.data(), frame->bytes.size());
  FrameInfo info = frame->info;
  info.size = frame->bytes.size();
  return info;
}

enum Kernel : std::uint32_t { kRead, kDecode, kEncode };

void run(Codecs& codecs, const remotecl_plugin_call& call) {
  const CallArguments arguments(call);
  if (call.kernel == kRead) {
    const StreamName name(arguments.text(0));
    const auto open = [&name] { return open_video(name, the_rules()); };
    return arguments.report(2, 3, read_from(codecs.videos, name, arguments.bytes(1), open));
  }
  const StreamName name = codec_name(arguments.text(0));
  const auto from = arguments.content(1, 2);
  if (call.kernel == kDecode) {
    PacketDecoder& decoder = codecs.decoders.get(name, [&name] { return std::make_unique<PacketDecoder>(name); });
    arguments.report(4, 5, put(decoder.decode(from), arguments.bytes(3)));
  } else {
    PictureEncoder& encoder = codecs.encoders.get(name, [&name] { return std::make_unique<PictureEncoder>(name); });
    arguments.report(4, 5, put(encoder.encode(from), arguments.bytes(3)));
  }
}

constexpr remotecl_plugin_argument kDecodeArguments[] = {
    argument("codec", "char*", REMOTECL_PLUGIN_INPUT),
    argument("packet", "uchar*", REMOTECL_PLUGIN_INPUT),
    argument("packet_size", "ulong*", REMOTECL_PLUGIN_INPUT, sizeof(std::uint64_t)),
    argument("frame", "uchar*", REMOTECL_PLUGIN_OUTPUT),
    kContentSize,
    kInfo,
};
constexpr remotecl_plugin_argument kEncodeArguments[] = {
    argument("codec", "char*", REMOTECL_PLUGIN_INPUT),
    argument("picture", "uchar*", REMOTECL_PLUGIN_INPUT),
    argument("picture_size", "ulong*", REMOTECL_PLUGIN_INPUT, sizeof(std::uint64_t)),
    argument("packet", "uchar*", REMOTECL_PLUGIN_OUTPUT),
    kContentSize,
    kInfo,
};
constexpr remotecl_plugin_kernel kKernels[] = {kernel("remotecl.read", kReadArguments),
                                               kernel("remotecl.decode", kDecodeArguments),
                                               kernel("remotecl.encode", kEncodeArguments)};
constexpr remotecl_plugin_device kDevice = device("remotecl FFmpeg", kKernels);
constexpr remotecl_plugin kPlugin = plugin_of<PluginFunctions<Codecs, run>>(kDevice);

}  // namespace
}  // namespace remotecl::plugins

extern "C" __attribute__((visibility("default"))) const remotecl_plugin* remotecl_plugin_get(
    const remotecl_plugin_host* host) {
  using namespace remotecl::plugins;
  the_rules() = Rules({host->rules, host->rules + host->count});
  return &kPlugin;
}
