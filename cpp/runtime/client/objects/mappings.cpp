#include "runtime/client/objects/mappings.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace remotecl {
namespace {

constexpr std::size_t kSweepMin = 64;

bool is_gone(const Mapping& mapping) { return *mapping.of == nullptr; }

}  // namespace

void Mappings::add(Mapping mapping) {
  if (mappings_.size() >= sweep_at_) {
    std::erase_if(mappings_, [](const auto& each) { return is_gone(each.second); });
    sweep_at_ = std::max(kSweepMin, 2 * mappings_.size());
  }
  size_max_ = std::max(mappings_.empty() ? 0 : size_max_, mapping.range.size);
  const Key key{mapping.pointer, mapping.of.get()};
  mappings_.emplace(key, std::move(mapping));
}

Mappings::Position Mappings::newest(const std::byte* pointer, const MemoryLink& link) const {
  const Key key{pointer, link.get()};
  const auto after = mappings_.upper_bound(key);
  return after == mappings_.begin() || std::prev(after)->first != key ? mappings_.end() : std::prev(after);
}

bool Mappings::find(const std::byte* pointer, const MemoryLink& link, Mapping& found) const {
  const Position at = newest(pointer, link);
  if (at != mappings_.end()) found = at->second;
  return at != mappings_.end();
}

bool Mappings::remove(const std::byte* pointer, const MemoryLink& link) {
  const Position at = newest(pointer, link);
  if (at == mappings_.end()) return false;
  mappings_.erase(at);
  return true;
}

bool Mappings::has(ByteRange range, const std::byte* pointer) const {
  const std::byte* const first = pointer - std::min(range.offset, size_max_);
  for (auto at = mappings_.lower_bound(Key{first, nullptr}); at != mappings_.end(); ++at) {
    if (!std::less<>()(at->first.first, pointer + range.size)) return false;
    if (intersect(at->second.range, range) && !is_gone(at->second)) return true;
  }
  return false;
}

}  // namespace remotecl
