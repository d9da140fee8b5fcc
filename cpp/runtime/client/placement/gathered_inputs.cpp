#include "runtime/client/placement/gathered_inputs.h"

#include <algorithm>
#include <bit>

namespace remotecl {

void GatheredInputs::begin(std::span<const schedule::DeviceId> places) {
  places_ = places;
  const auto last = std::max_element(places.begin(), places.end());
  words_each_ = last == places.end() ? 1 : *last / 64 + 1;
  accesses_.clear();
  memories_.clear();
  parts_.clear();
  words_.clear();
}

void GatheredInputs::add(const MemoryObject& memory, ByteRange range, bool reads, bool writes) {
  const BufferStorage& storage = memory.storage();
  if (!accesses_.empty() && memories_.back().storage == &storage && accesses_.back().offset == range.offset &&
      accesses_.back().bytes == range.size) {
    accesses_.back().reads = accesses_.back().reads || reads;
    accesses_.back().writes = accesses_.back().writes || writes;
    return;
  }
  accesses_.push_back({memories_.size(), range.offset, range.size, reads, writes});
  found_.clear();
  storage.residency.holders(range, found_);
  memories_.push_back({&storage, parts_.size(), parts_.size() + found_.size()});
  for (const ResidencyDirectory::Transfer& part : found_) {
    parts_.push_back({part.range.size, part.holders, words_.size()});
    add_words(part.holders);
  }
}

void GatheredInputs::add_words(std::uint64_t holders) {
  const std::size_t begin = words_.size();
  words_.resize(begin + words_each_);
  for (std::uint64_t left = holders >> 1; left != 0; left &= left - 1) {
    const auto place = static_cast<std::size_t>(std::countr_zero(left));
    if (place >= places_.size()) return;
    words_[begin + places_[place] / 64] |= std::uint64_t{1} << places_[place] % 64;
  }
}

void GatheredInputs::find(const schedule::Access& access, std::vector<schedule::Segment>& out) const {
  const Memory& memory = memories_[access.buffer];
  for (std::size_t i = memory.begin; i < memory.end; ++i) {
    out.push_back({parts_[i].bytes, schedule::DeviceWords(words_).subspan(parts_[i].words, words_each_),
                   (parts_[i].holders & 1) != 0});
  }
}

std::uint64_t GatheredInputs::bytes_at(Location location) const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += (part.holders >> location & 1) != 0 ? part.bytes : 0;
  return sum;
}

}  // namespace remotecl
