#include "runtime/handshake/channels.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// A channel that moves bytes in both directions keeps two cores busy at either end.
unsigned channels_of(unsigned cores) { return cores / 2; }

}  // namespace

unsigned bulk_channels(unsigned devices) {
  if (const char* const text = std::getenv("REMOTECL_BULK_CHANNELS")) {
    const std::string_view setting(text);
    const unsigned number = setting.size() == 1 ? static_cast<unsigned>(setting[0] - '0') : 0;
    if (number >= 1 && number <= kBulkChannelsMax) return number;
  }
  return std::clamp(std::min(devices, channels_of(std::thread::hardware_concurrency())), 1u, kBulkChannelsMax);
}

}  // namespace remotecl
