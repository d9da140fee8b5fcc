#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "extras/streams/boundary/call.h"
#include "extras/streams/instance/shared_block.h"

namespace remotecl::plugins {

// An argument of a call: bytes of this process, which may lie in a block.
struct CallArgument {
  std::byte* data = nullptr;
  std::uint64_t size = 0;
  bool is_read = false, is_written = false;  // by the plugin
  std::shared_ptr<SharedBlock> block;        // needed for more than kCopiedMax bytes
};

struct Call {
  std::uint32_t kernel = 0;
  std::vector<CallArgument> arguments;
};

// A device of a plugin, opened for one OpenCL program. Used by one thread at a time, which it may block until the
// operator's limit for a call is over.
class Instance {
 public:
  virtual ~Instance() = default;
  virtual Outcome execute(const Call& call) = 0;
};

}  // namespace remotecl::plugins
