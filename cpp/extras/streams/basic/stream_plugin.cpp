// The device "remotecl streams": remotecl.read, remotecl.write and remotecl.size.
#include <cstring>
#include <memory>
#include <string>

#include "extras/streams/basic/sources.h"
#include "extras/streams/support/call_arguments.h"
#include "extras/streams/support/open_streams.h"
#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/plugin_functions.h"
#include "extras/streams/support/rules.h"
#include "extras/streams/support/stream_name.h"

namespace remotecl::plugins {
namespace {

constexpr std::size_t kStreamsMax = 64;  // of one program

Rules& the_rules() {
  static Rules rules({});
  return rules;
}

// The streams of one program.
class Streams {
 public:
  FrameInfo read(std::string_view text, std::span<std::byte> to) {
    const StreamName name(text);
    return read_from(sources_, name, to, [&name] { return open(name); });
  }
  void write(std::string_view text, std::span<const std::byte> frame) {
    const StreamName name(text);
    with_stream(
        sinks_, name, [&name] { return open_sink(name, the_rules()); }, [frame](Sink& sink) { sink.write(frame); });
  }
  // Opens no stream that stays open.
  static std::uint64_t size(std::string_view text) {
    const StreamName name(text);
    if (name.scheme() == "file") return size_of_file_source(name, the_rules());
    throw PluginError(kWrongName, "\"" + name.text() + "\" has no size before its end: only file: has");
  }

 private:
  static std::unique_ptr<Source> open(const StreamName& name) {
    const std::string& scheme = name.scheme();
    if (scheme == "file") return open_file_source(name, the_rules());
    if (scheme == "dir") return open_folder_source(name, the_rules());
    if (scheme == "tcp" || scheme == "tcp-listen") return open_tcp_source(name, the_rules());
    if (scheme == "udp") return open_udp_source(name, the_rules());
    if (scheme == "memory") return open_ring_source(name, the_rules());
    throw PluginError(kWrongName,
                      "\"" + name.text() + "\" is no source: write file:, dir:, tcp:, tcp-listen:, udp: or memory:");
  }

  OpenStreams<Source> sources_{kStreamsMax};
  OpenStreams<Sink> sinks_{kStreamsMax};
};

enum Kernel : std::uint32_t { kRead, kWrite, kSize };

void run(Streams& streams, const remotecl_plugin_call& call) {
  const CallArguments arguments(call);
  if (call.kernel == kRead) {
    arguments.report(2, 3, streams.read(arguments.text(0), arguments.bytes(1)));
  } else if (call.kernel == kWrite) {
    streams.write(arguments.text(0), arguments.content(1, 2));
  } else {
    const std::uint64_t size = Streams::size(arguments.text(0));
    std::memcpy(arguments.bytes(1).data(), &size, sizeof size);
  }
}

constexpr remotecl_plugin_argument kWriteArguments[] = {
    argument("sink", "char*", REMOTECL_PLUGIN_INPUT),
    argument("frame", "uchar*", REMOTECL_PLUGIN_INPUT),
    argument("content_size", "ulong*", REMOTECL_PLUGIN_INPUT, sizeof(std::uint64_t)),
};
constexpr remotecl_plugin_argument kSizeArguments[] = {
    argument("source", "char*", REMOTECL_PLUGIN_INPUT),
    argument("size", "ulong*", REMOTECL_PLUGIN_OUTPUT, sizeof(std::uint64_t)),
};
constexpr remotecl_plugin_kernel kKernels[] = {kernel("remotecl.read", kReadArguments),
                                               kernel("remotecl.write", kWriteArguments),
                                               kernel("remotecl.size", kSizeArguments)};
constexpr remotecl_plugin_device kDevice = device("remotecl streams", kKernels);
constexpr remotecl_plugin kPlugin = plugin_of<PluginFunctions<Streams, run>>(kDevice);

}  // namespace
}  // namespace remotecl::plugins

extern "C" __attribute__((visibility("default"))) const remotecl_plugin* remotecl_plugin_get(
    const remotecl_plugin_host* host) {
  using namespace remotecl::plugins;
  the_rules() = Rules({host->rules, host->rules + host->count});
  return &kPlugin;
}
