#include "runtime/client/objects/buffer_storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/client/support/callback_thread.h"

namespace remotecl {
namespace {

// What only that location has of these bytes it may not have, as the transfer may fail.
void doubt_transfer(ResidencyDirectory& residency, const InboundTransfer& arrival, ByteRange range, Location at) {
  Ref<FormerContent> before = arrival.former;
  if (before && before->doubt->outcome() == Doubt::Outcome::kTakesPlace) before = nullptr;
  const std::uint64_t begin = std::max(arrival.range.offset, range.offset);
  const std::uint64_t end = std::min(arrival.range.offset + arrival.range.size, range.offset + range.size);
  std::vector<ResidencyDirectory::HeldRange> parts;
  residency.holders({begin, end - begin}, parts);
  for (const auto& part : parts) {
    // A command that has written it there since may be known not to have begun, and the transfer is lost with it.
    const auto* const later = part.former ? static_cast<const EventDoubt*>(part.former->doubt.get()) : nullptr;
    if (later != nullptr && later->kind == EventDoubt::Kind::kTransfer) continue;  // it is in doubt already
    const Ref<Event> writer = later != nullptr && later->kind == EventDoubt::Kind::kRewrite ? later->event : nullptr;
    const auto doubt = make_ref<EventDoubt>(EventDoubt::Kind::kTransfer, at, arrival.event, 0, writer);
    residency.doubt(part.range, at, make_ref<FormerContent>(doubt, arrival.holders_before, before, arrival.writes + 1));
  }
}

}  // namespace

static_assert(std::is_nothrow_move_constructible_v<Site>);  // what it holds stays in its place

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

void BufferStorage::arriving(InboundTransfer arrival, Location at) {
  Site& there = site(at);
  there.take_from_arrivals(arrival.range, [](const InboundTransfer&) { return true; });
  there.arrivals.add(std::move(arrival));
  if (there.arrivals.size() < there.sweep_at) return;
  const ByteRange whole{0, size_};
  settle_arrivals_at(at, whole);
  // The ends of small ones are not reported unasked, and without its end each would be kept.
  there.arrivals.for_each(whole, [](const InboundTransfer& one) { one.event->observe(); });
  there.sweep_at = std::max(Site::kSweepMin, 2 * there.arrivals.size());
}

void BufferStorage::settle_arrivals(ByteRange range) {
  for (Location location = 0; location < sites_.size(); ++location) settle_arrivals_at(location, range);
}

void BufferStorage::settle_arrivals_at(Location at, ByteRange range) {
  Site& there = sites_[at];
  there.outdated.drop_ended();
  there.arrivals.erase_if(range, [&](const InboundTransfer& arrival) {
    kMemoryMutex.assume_held();
    const cl_int status = arrival.event->status();
    if (status > CL_COMPLETE) return false;
    // Of a transfer from a lost server the outcome is unknown, and later writes may already have been
    // reported as successful.
    const bool has_failed = status < CL_COMPLETE && !arrival.event->session()->lost();
    if (has_failed) residency.restore(arrival.range, at, arrival.holders_before, arrival.former);
    return true;
  });
}

LocationSet BufferStorage::uncertain_holders(ByteRange range) {
  settle_arrivals(range);
  LocationSet uncertain;
  for (Location at = 0; at < sites_.size(); ++at) {
    if (sites_[at].limited_copies.find(range) != nullptr) uncertain.add(at);
    sites_[at].arrivals.for_each(range, [&](const InboundTransfer& arrival) {
      kMemoryMutex.assume_held();
      uncertain.add(at);
      doubt_transfer(residency, arrival, range, at);
    });
  }
  return uncertain;
}

void BufferStorage::written(ByteRange range, const CommandQueue& queue, bool has_read, const Ref<EventDoubt>& doubt) {
  const Location at = queue.location();
  if (!doubt && !residency.has_doubts()) return written(range, at);
  const LocationSet uncertain = doubt ? uncertain_holders(range) : LocationSet();
  const std::uint64_t number = writes + 1;
  // What remains in doubt in spite of this write.
  const auto kept = [&](const Ref<FormerContent>& former) -> Ref<FormerContent> {
    if (!former) return nullptr;
    const auto& before = static_cast<const EventDoubt&>(*former->doubt);
    if (before.kind != EventDoubt::Kind::kRewrite) return has_read ? former : nullptr;
    const bool is_behind = before.event->queue() == &queue && queue.in_order();
    return is_behind || (has_read && before.location != at) ? former : nullptr;
  };
  const auto former_of = [&](const LocationSet& holders, const Ref<FormerContent>& former) -> Ref<FormerContent> {
    if (!doubt || holders.empty()) return kept(former);
    const auto* const before = former ? static_cast<const EventDoubt*>(former->doubt.get()) : nullptr;
    const bool is_open = before != nullptr && before->kind != EventDoubt::Kind::kRewrite;
    if (doubt->kind == EventDoubt::Kind::kRewrite) {
      if (!holders.contains_other_than(at) || (is_open && before->location == at)) return kept(former);
    } else if (holders.contains(at) && !uncertain.contains(at) && !is_open) {
      return kept(former);
    }
    LocationSet certain = holders;
    uncertain.for_each([&certain](Location holder) { certain.remove(holder); });
    if (former) {
      former->forget_earlier();
      former->doubt->ask();
    }
    return make_ref<FormerContent>(doubt, certain.empty() ? holders : certain, former, number);
  };
  residency.write(range, at, former_of);
  count_write(range);
}

bool BufferStorage::is_certain(ByteRange range, Location at) {
  if (residency.presence(range, at) == ResidencyDirectory::Presence::kMissing || limited_at(at, range)) return false;
  bool is_certain = true;
  site(at).arrivals.for_each(
      range, [&is_certain](const InboundTransfer& arrival) { is_certain = is_certain && arrival.event->ended(); });
  residency.for_each_doubt(range, [&is_certain](const Doubt& doubt) {
    is_certain = is_certain && static_cast<const EventDoubt&>(doubt).kind == EventDoubt::Kind::kRewrite;
  });
  return is_certain;
}

void BufferStorage::settle_doubts(ByteRange range) {
  residency.settle(range, [this](ByteRange part, const FormerContent& former) {
    kMemoryMutex.assume_held();  // by this function
    // Transfers of what was not written do not come; their failure says nothing of what was there.
    former.holders.for_each([&](Location at) {
      kMemoryMutex.assume_held();
      site(at).take_from_arrivals(part,
                                  [&](const InboundTransfer& arrival) { return arrival.writes >= former.writes; });
    });
  });
}

void BufferStorage::written(ByteRange range, Location at) {
  residency.write(range, at);
  count_write(range);
}

void BufferStorage::count_write(ByteRange range) {
  ++writes;
  if (!has_limited_copies_) return;
  for (Location location = 0; location < sites_.size(); ++location) take_from_limited(range, location);
}

void BufferStorage::copied(ByteRange range, Location from, Location to) {
  residency.add_holder(range, to);
  if (!has_limited_copies_) return;
  take_from_limited(range, to);
  if (const LimitedCopy* source = limited_at(from, range)) limited({range, source->size, source->size_writes}, to);
}

void BufferStorage::limited(const LimitedCopy& copy, Location at) {
  take_from_limited(copy.range, at);
  site(at).limited_copies.add(copy);
  has_limited_copies_ = true;
}

std::optional<std::uint64_t> BufferStorage::writes_if_whole(ByteRange range, Location at) const {
  return limited_at(at, range) == nullptr ? std::optional(writes) : std::nullopt;
}

const LimitedCopy* BufferStorage::limited_at(Location at, ByteRange range) const {
  return at < sites_.size() ? sites_[at].limited_copies.find(range) : nullptr;
}

void BufferStorage::take_from_limited(ByteRange range, Location at) {
  const auto all = [](const LimitedCopy&) { return true; };
  if (at < sites_.size()) sites_[at].limited_copies.take(range, all, [](LimitedCopy&&) {});
}

bool BufferStorage::is_mapped(ByteRange range) {
  return !mappings.empty() && mappings.has(range, host() + range.offset);
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
