#include "extras/scheduling/placement/gathered_inputs.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace remotecl {

void GatheredInputs::begin(std::span<const schedule::DeviceId> device_ids) {
  device_ids_ = device_ids;
  only_device_ = nullptr;
  accesses_.clear();
  memories_.clear();
  parts_.clear();
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
  for (const ResidencyDirectory::HeldRange& part : found_) {
    parts_.push_back({part.range.size, part.holders, devices_of(part.holders)});
  }
}

IndexSet GatheredInputs::devices_of(const LocationSet& holders) const {
  IndexSet devices;
  holders.for_each([&](Location holder) {
    if (holder != kHost && holder <= device_ids_.size()) devices.add(device_ids_[holder - 1]);
  });
  return devices;
}

void GatheredInputs::find(const schedule::Access& access, std::vector<schedule::Segment>& out) const {
  const Memory& memory = memories_[access.buffer];
  for (std::size_t i = memory.begin; i < memory.end; ++i) {
    out.push_back({parts_[i].bytes, &parts_[i].devices, parts_[i].holders.contains(kHost)});
  }
}

std::uint64_t GatheredInputs::bytes() const {
  sorted_.resize(accesses_.size());
  std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
  std::ranges::sort(sorted_, {},
                    [this](std::size_t at) { return std::pair(memories_[at].storage, accesses_[at].offset); });
  std::uint64_t sum = 0, end = 0;  // of the last memory, up to where it has been counted
  const BufferStorage* last = nullptr;
  for (const std::size_t at : sorted_) {
    const schedule::Access& access = accesses_[at];
    if (std::exchange(last, memories_[at].storage) != memories_[at].storage) end = 0;
    const std::uint64_t access_end = access.offset + access.bytes;
    if (access_end > end) sum += access_end - std::max(end, access.offset);
    end = std::max(end, access_end);
  }
  return sum;
}

std::uint64_t GatheredInputs::bytes_at(Location location) const {
  std::uint64_t sum = 0;
  for (const Part& part : parts_) sum += part.holders.contains(location) ? part.bytes : 0;
  return sum;
}

}  // namespace remotecl
