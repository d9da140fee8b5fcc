#include "runtime/client/objects/buffer_storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "runtime/client/support/callback_thread.h"

namespace remotecl {

BufferStorage::BufferStorage(std::uint64_t size, void* application_memory)
    : residency(size),
      size_(size),
      host_(static_cast<std::byte*>(application_memory)),
      owns_host_(application_memory == nullptr) {}

BufferStorage::~BufferStorage() {
  if (owns_host_ && host_ != nullptr) ::munmap(host_, size_);
  if (at_end) post_callback(std::move(at_end));
}

std::byte* BufferStorage::host() {
  if (host_ == nullptr) {
    void* pages = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    host_ = static_cast<std::byte*>(pages);
  }
  return host_;
}

Site& BufferStorage::site(Location location) {
  if (location >= sites_.size()) sites_.resize(location + 1);
  return sites_[location];
}

void BufferStorage::settle_arrivals() {
  for (Location location = 0; location < sites_.size(); ++location) {
    std::erase_if(sites_[location].arrivals, [&](const InboundTransfer& arrival) REQUIRES(kMemoryMutex) {
      const cl_int status = arrival.event->status();
      if (status > CL_COMPLETE) return false;
      // Of a transfer from a lost server the outcome is unknown, and later writes may already have been
      // reported as successful.
      const bool has_failed = status < CL_COMPLETE && !arrival.event->session()->lost();
      if (has_failed) residency.restore(arrival.range, location, arrival.holders_before);
      return true;
    });
  }
}

void BufferStorage::written(ByteRange range, Location at) {
  residency.write(range, at);
  ++writes;
  take_from_limited(range, [](Location) { return true; });
}

void BufferStorage::copied(ByteRange range, Location from, Location to) {
  residency.add_holder(range, to);
  take_from_limited(range, [to](Location at) { return at == to; });
  if (const LimitedCopy* source = limited_at(from, range)) {
    limited_copies.push_back({to, range, source->size, source->size_writes});
  }
}

std::optional<std::uint64_t> BufferStorage::writes_if_whole(ByteRange range, Location at) const {
  return limited_at(at, range) == nullptr ? std::optional(writes) : std::nullopt;
}

const LimitedCopy* BufferStorage::limited_at(Location at, ByteRange range) const {
  const auto found = std::ranges::find_if(
      limited_copies, [&](const LimitedCopy& copy) { return copy.location == at && intersect(copy.range, range); });
  return found == limited_copies.end() ? nullptr : &*found;
}

template <class Condition>
void BufferStorage::take_from_limited(ByteRange range, const Condition& condition) {
  for (std::size_t i = 0, count = limited_copies.size(); i < count; ++i) {
    LimitedCopy copy = limited_copies[i];
    if (!condition(copy.location) || !intersect(copy.range, range)) continue;
    const auto [before, after] = around(copy.range, range);
    limited_copies[i].range = before;
    copy.range = after;
    limited_copies.push_back(copy);
  }
  std::erase_if(limited_copies, [](const LimitedCopy& copy) { return copy.range.size == 0; });
}

bool BufferStorage::is_mapped(ByteRange range) {
  std::erase_if(mappings, [](const Mapping& mapping) { return *mapping.of == nullptr; });
  return std::ranges::any_of(mappings, [&](const Mapping& mapping) { return intersect(mapping.range, range); });
}

void Site::take_from_arrival(std::size_t index, ByteRange written) {
  const auto [before, after] = around(arrivals[index].range, written);
  arrivals[index].range = before.size != 0 ? before : after;
  if (before.size == 0 || after.size == 0) return;
  InboundTransfer rest = arrivals[index];
  rest.range = after;
  arrivals.push_back(std::move(rest));
}

void Site::add_user(CommandQueue& queue, std::uint64_t sequence, ByteRange range, bool writes,
                    std::vector<Ref<CommandQueue>>& unneeded) {
  const auto is_of_queue = [&queue](const User& user) { return user.queue.get() == &queue; };
  std::erase_if(users, [&](const User& user) {
    if (!user.uses.have_ended(*user.queue)) return false;
    if (!is_of_queue(user)) unneeded.push_back(user.queue);
    return true;
  });
  User added{Ref<CommandQueue>(&queue), range, {sequence}, {writes ? sequence : 0}};
  const bool is_full = static_cast<std::size_t>(std::ranges::count_if(users, is_of_queue)) >= kRangesMax;
  std::erase_if(users, [&](const User& user) {
    if (!is_of_queue(user) || (!is_full && !contains(range, user.range))) return false;
    added.range = joined(added.range, user.range);
    added.uses.add(user.uses, queue);
    added.writes.add(user.writes, queue);
    return true;
  });
  users.push_back(std::move(added));
}

}  // namespace remotecl
