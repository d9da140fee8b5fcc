#include "server/isolation/daemon_store.h"

#include "runtime/store/store.h"
#include "server/isolation/content_memory.h"

namespace remotecl::server {

std::optional<std::vector<std::byte>> DaemonStore::find(const std::string&, const Digest& key) {
  const Descriptor memory(requests_.find(key));
  return memory.valid() ? read_memory(memory, Store::kContentSizeMax) : std::nullopt;
}

void DaemonStore::keep(const std::string&, const Digest& key, Bytes content) {
  const Descriptor memory = memory_with(content);
  if (memory.valid()) requests_.keep(key, memory);
}

StoredContent DaemonStore::Uploads::open(const std::string&, const Digest& key) {
  std::uint64_t checksum = 0;
  StoredFile file(requests_.open_upload(key, checksum));
  const std::optional<FileState> state = file.state();
  return Store::content_of(std::move(file), state, checksum);
}

void DaemonStore::Uploads::keep(const std::string&, const Digest& key, Bytes content) {
  const Descriptor memory = memory_with(content);
  if (memory.valid()) requests_.keep_upload(key, memory);
}

}  // namespace remotecl::server
