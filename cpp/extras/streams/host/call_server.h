#pragma once

#include <map>
#include <string>
#include <vector>

#include "extras/streams/boundary/call.h"
#include "extras/streams/boundary/message_socket.h"
#include "extras/streams/instance/instance.h"

namespace remotecl::plugins {

// The process's side of the calls: maps what the driver shares, and has the plugin work on it. One thread.
class CallServer {
 public:
  // `call_memory`: kCallMemorySize bytes.
  CallServer(const MessageSocket& socket, std::byte* call_memory, Instance& instance)
      : socket_(socket), call_memory_(call_memory), instance_(instance) {}
  ~CallServer();

  // Until the driver is gone.
  void run();

 private:
  struct MappedBlock {
    std::byte* data;
    std::uint64_t size;
  };

  bool map(const CallMessage& message, const std::vector<int>& descriptors);
  void unmap(std::uint64_t block);
  Outcome execute(const CallMessage& message);

  const MessageSocket& socket_;
  std::byte* const call_memory_;
  Instance& instance_;
  std::map<std::uint64_t, MappedBlock> blocks_;
};

}  // namespace remotecl::plugins
