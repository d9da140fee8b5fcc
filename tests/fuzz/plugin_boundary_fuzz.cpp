// What a plugin's process says: its description of itself, and answers to calls. Whatever bytes come, the daemon gets
// something within the bounds of plugin.h, or a refusal.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "extras/streams/boundary/call.h"
#include "extras/streams/boundary/description.h"

using namespace remotecl;
using namespace remotecl::plugins;

namespace {

void require(bool is_true) {
  if (!is_true) std::abort();
}

void describe(Bytes bytes) {
  try {
    const PluginDescription description = decode_description(bytes);
    require(decode_description(encode(description)) == description);
    for (const DeviceDescription& device : description.devices) {
      require(!device.kernels.empty() && device.kernels.size() <= REMOTECL_PLUGIN_KERNELS_MAX);
      require(device.name.find(';') == std::string::npos);
    }
  } catch (const std::invalid_argument&) {
  }
}

void reply(Bytes bytes) {
  ReplyMessage message{};
  // As long as an answer, so that its fields are reached.
  std::memcpy(&message, bytes.data(), std::min(bytes.size(), sizeof message));
  for (const Bytes each : {bytes, std::as_bytes(std::span(&message, 1))}) {
    const auto outcome = read_reply(each, 1);
    if (!outcome) continue;
    require(outcome->code <= 0 && outcome->why.size() <= REMOTECL_PLUGIN_WHY_MAX);
    require(outcome->is_good() || !outcome->why.empty());
    for (const char letter : outcome->why) require(letter >= ' ' && letter <= '~');
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  describe(bytes);
  if (size != 0) reply(bytes);
  return 0;
}
