#include "extras/streams/host/call_server.h"

#include <sys/mman.h>
#include <unistd.h>

#include <span>

namespace remotecl::plugins {
CallServer::~CallServer() {
  while (!blocks_.empty()) unmap(blocks_.begin()->first);
}

void CallServer::unmap(std::uint64_t block) {
  const auto at = blocks_.find(block);
  if (at == blocks_.end()) return;
  ::munmap(at->second.data, at->second.size);
  blocks_.erase(at);
}

bool CallServer::map(const CallMessage& message, const std::vector<int>& descriptors) {
  bool is_good = descriptors.size() == message.new_count;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    if (is_good) {
      const NewBlock& block = message.new_blocks[i];
      void* const data = ::mmap(nullptr, block.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptors[i], 0);
      is_good = data != MAP_FAILED;
      if (is_good) blocks_[block.id] = {static_cast<std::byte*>(data), block.size};
    }
    ::close(descriptors[i]);
  }
  return is_good;
}

Outcome CallServer::execute(const CallMessage& message) {
  Call call{message.kernel, {}};
  for (std::uint32_t i = 0; i < message.argument_count; ++i) {
    const ArgumentLocation& location = message.arguments[i];
    CallArgument& argument = call.arguments.emplace_back();
    argument.size = location.size;
    if (location.block == 0) {
      argument.data = location.size == 0 ? nullptr : call_memory_ + location.offset;
    } else {
      const auto block = blocks_.find(location.block);
      if (block == blocks_.end()) return {kOutOfResources, "a block of memory is missing"};
      argument.data = block->second.data + location.offset;
    }
  }
  return instance_.execute(call);
}

void CallServer::run() {
  CallMessage message;
  while (const auto packet = socket_.receive(std::as_writable_bytes(std::span(&message, 1)))) {
    if (packet->size != sizeof message || message.argument_count > REMOTECL_PLUGIN_ARGUMENTS_MAX) return;
    for (std::uint32_t i = 0; i < message.gone_count; ++i) unmap(message.gone_blocks[i]);
    const Outcome outcome = map(message, packet->descriptors)
                                ? execute(message)
                                : Outcome{kOutOfResources, "its process cannot map the buffers"};
    const ReplyMessage reply = make_reply(message.serial, outcome);
    if (!socket_.send(std::as_bytes(std::span(&reply, 1)))) return;
  }
}

}  // namespace remotecl::plugins
