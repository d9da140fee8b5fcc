#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "remotecl/plugin.h"
#include "runtime/base/bytes.h"

namespace remotecl::plugins {

// Values and buffers up to this size are copied into the memory of the call; larger ones are shared.
constexpr std::size_t kCopiedMax = 64u << 10;
constexpr std::size_t kCallMemorySize = REMOTECL_PLUGIN_ARGUMENTS_MAX * kCopiedMax;

// The error of a call whose plugin is lost or answers nonsense: CL_OUT_OF_RESOURCES.
constexpr std::int32_t kOutOfResources = -5;

// The descriptors that remotecl-plugin-host starts with.
constexpr int kSocketDescriptor = 3;
constexpr int kCallMemoryDescriptor = 4;

// The messages between the driver and a process of a plugin, as they lie in a packet. Both sides come from one build.

// Where an argument is: in the memory of the call, or in a block of memory that both share.
struct ArgumentLocation {
  std::uint64_t block;  // 0: in the memory of the call
  std::uint64_t offset;
  std::uint64_t size;
};

struct NewBlock {
  std::uint64_t id;  // never 0
  std::uint64_t size;
};

// One call. The descriptors of the new blocks come with it, in their order.
struct CallMessage {
  std::uint64_t serial;
  std::uint32_t kernel;
  std::uint32_t argument_count;
  std::uint32_t new_count;
  std::uint32_t gone_count;
  ArgumentLocation arguments[REMOTECL_PLUGIN_ARGUMENTS_MAX];
  NewBlock new_blocks[REMOTECL_PLUGIN_ARGUMENTS_MAX];
  std::uint64_t gone_blocks[REMOTECL_PLUGIN_ARGUMENTS_MAX];  // which the process unmaps
};

struct ReplyMessage {
  std::uint64_t serial;  // of the call; 0: reports whether the process has started
  std::int32_t code;
  char why[REMOTECL_PLUGIN_WHY_MAX + 1];
};

// How a call has ended: an OpenCL error code and its cause.
struct Outcome {
  std::int32_t code = 0;
  std::string why;

  bool is_good() const { return code == 0; }
};

// Makes one printable line of at most REMOTECL_PLUGIN_WHY_MAX characters.
std::string printable_cause(std::string_view text);
ReplyMessage make_reply(std::uint64_t serial, const Outcome& outcome);
// Decodes bytes of an untrusted process. Nothing if they do not answer the call with that serial number. A code that is
// no OpenCL error is replaced by one.
std::optional<Outcome> read_reply(Bytes bytes, std::uint64_t serial);

}  // namespace remotecl::plugins
