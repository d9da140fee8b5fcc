#include "runtime/transport/compression/compression_mode.h"

#include "runtime/base/settings.h"

namespace remotecl {

CompressionMode compression_mode() {
  const auto word = settings::one_of("REMOTECL_COMPRESSION", {"auto", "off", "zstd"});
  if (!word || *word == 0) return CompressionMode::kAuto;
  return *word == 2 ? CompressionMode::kAlways : CompressionMode::kOff;
}

}  // namespace remotecl
