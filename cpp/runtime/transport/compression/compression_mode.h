#pragma once

namespace remotecl {

// When bulk data is compressed. kAlways: whatever the link's speed, as far as it becomes smaller.
enum class CompressionMode { kAuto, kOff, kAlways };

// REMOTECL_COMPRESSION: auto (the default), off, or zstd, which is kAlways.
CompressionMode compression_mode();

}  // namespace remotecl
