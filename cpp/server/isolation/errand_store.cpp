#include "server/isolation/errand_store.h"

#include "runtime/store/store.h"
#include "server/isolation/content_memory.h"

namespace remotecl::server {

std::optional<std::vector<std::byte>> ErrandStore::find(const std::string&, const Digest& key) {
  const Descriptor memory(errands_.find(key));
  return memory.valid() ? read_memory(memory, Store::kContentSizeMax) : std::nullopt;
}

void ErrandStore::keep(const std::string&, const Digest& key, Bytes content) {
  const Descriptor memory = memory_with(content);
  if (memory.valid()) errands_.keep(key, memory);
}

}  // namespace remotecl::server
