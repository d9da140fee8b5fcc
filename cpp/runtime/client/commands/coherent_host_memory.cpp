#include "runtime/client/commands/coherent_host_memory.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <memory>
#include <unordered_set>

#include "runtime/base/mutex.h"
#include "runtime/base/settings.h"
#include "runtime/client/commands/command_order.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/support/inbound_host_ranges.h"

namespace remotecl {
namespace {

// Fetches go through memory beside the application's, in pieces of this size, a few at a time.
constexpr std::uint64_t kPieceMax = 8u << 20;
constexpr std::size_t kUnderWayMax = 4;

struct Live {
  struct InContext {
    std::unordered_set<MemoryObject*> buffers;
    std::shared_ptr<CommandOrder> order = std::make_shared<CommandOrder>();
  };

  Mutex mutex;
  std::map<const Context*, InContext> contexts GUARDED_BY(mutex);
};
Live& live() {
  static Live& live = *new Live;  // never destroyed: buffers may outlive static objects
  return live;
}

// This thread reads on behalf of the application's memory, which does not count as a use of it.
thread_local bool t_is_fetching = false;

// Above this number, the writes of a queue are merged into one.
constexpr std::size_t kWritesMax = 256;

}  // namespace

std::atomic<std::size_t> CoherentHostMemory::count_{0};

// Registered with its buffer's coherent memory as long as it lives.
struct CoherentHostMemory::Fetch {
  explicit Fetch(const Part& part) : part(part), bytes(new std::byte[part.range.size]) {
    const MutexLock lock(part.buffer->context().memory_mutex());
    part.buffer->storage().coherent->fetches_.push_back(this);
  }
  ~Fetch() {
    const MutexLock lock(part.buffer->context().memory_mutex());
    std::erase(part.buffer->storage().coherent->fetches_, this);
  }

  const Part part;
  const std::shared_ptr<std::byte[]> bytes;
  bool is_limited = false;  // some of the bytes may not be sent
  Ref<Event> event{};
  RangeSet left_out GUARDED_BY(kMemoryMutex) = {};
};

void CoherentHostMemory::attach(MemoryObject& buffer) {
  static const bool is_wanted = settings::is_set_to("REMOTECL_HOST_POINTERS", "coherent");
  if (!is_wanted || buffer.host_ptr() == nullptr) return;
  kMemoryMutex.assume_held();  // needless, because nobody else knows the buffer
  BufferStorage& storage = buffer.storage();
  storage.coherent = std::make_shared<CoherentHostMemory>(storage.host(), buffer.size());
  storage.end_coherence = remove;
  MutexLock lock(live().mutex);
  live().contexts[&buffer.context()].buffers.insert(&buffer);
  ++count_;
}

void CoherentHostMemory::remove(MemoryObject& buffer) {
  std::shared_ptr<CommandOrder> order;  // destroyed after the lock is released
  MutexLock lock(live().mutex);
  const auto at = live().contexts.find(&buffer.context());
  if (at == live().contexts.end() || at->second.buffers.erase(&buffer) == 0) return;
  --count_;
  if (!at->second.buffers.empty()) return;
  order = std::move(at->second.order);
  live().contexts.erase(at);
}

std::shared_ptr<CommandOrder> CoherentHostMemory::find_order(const Context& context) {
  MutexLock lock(live().mutex);
  const auto at = live().contexts.find(&context);
  return at == live().contexts.end() ? nullptr : at->second.order;
}

void CoherentHostMemory::before_use(MemoryObject& buffer, ByteRange range, const CommandQueue& queue,
                                    std::uint64_t sequence) {
  if (t_is_fetching) return;
  const Use use{&queue, sequence, range};
  if (sequence != 0 && use == last_use_) return;  // a kernel names the bytes twice if it reads and writes them
  last_use_ = use;
  take_changes(buffer, range);
}

void CoherentHostMemory::take_changes(MemoryObject& buffer, ByteRange range) {
  BufferStorage& storage = buffer.storage();
  const auto is_here = [&storage](ByteRange gap) REQUIRES(kMemoryMutex) { return storage.residency.valid(gap, kHost); };
  settle_mapped();
  mapped_bytes().for_each_missing(range, [&](ByteRange part) {
    kMemoryMutex.assume_held();  // by this function
    for (const ByteRange& change : shadow_.take_changes(part, is_here)) {
      leave_out(change);
      storage.written(change, kHost);
    }
  });
}

void CoherentHostMemory::written(CommandQueue& queue, std::uint64_t sequence, Event* event, ByteRange range) {
  // If a later command of an in-order queue is known to have ended, an earlier one has ended too.
  std::erase_if(writes_, [&](const Write& write) REQUIRES(kMemoryMutex) {
    if (write.queue.get() != &queue || !queue.in_order()) return false;
    const bool joins = writes_.size() >= kWritesMax;
    if (joins) range = joined(range, write.range);
    return joins || contains(range, write.range);
  });
  writes_.push_back({Ref<CommandQueue>(&queue), sequence, Ref<Event>(event), range, queue.location()});
}

void CoherentHostMemory::mapped(MemoryObject& buffer, const Ranges& bytes) {
  take_changes(buffer, joined(bytes.front(), bytes.back()));
  mapped_.push_back({bytes, nullptr});
}

void CoherentHostMemory::unmapped(const Ranges& bytes) {
  const auto at = std::find_if(mapped_.begin(), mapped_.end(),
                               [&](const Mapped& each) { return !each.are_here && each.bytes == bytes; });
  if (at == mapped_.end()) return;
  at->are_here = std::make_shared<std::atomic<bool>>(false);
  const auto come = [are_here = at->are_here] { are_here->store(true, std::memory_order_release); };
  const ByteRange whole = joined(bytes.front(), bytes.back());
  if (!InboundHostRanges::instance().when_there(memory_ + whole.offset, whole.size, come)) come();
  settle_mapped();
}

void CoherentHostMemory::settle_mapped() {
  std::erase_if(mapped_, [this](const Mapped& each) REQUIRES(kMemoryMutex) {
    if (!each.are_here || !each.are_here->load(std::memory_order_acquire)) return false;
    for (const ByteRange& range : each.bytes) {
      leave_out(range);
      shadow_.take(range);
    }
    return true;
  });
}

RangeSet CoherentHostMemory::mapped_bytes() const {
  RangeSet bytes;
  for (const Mapped& each : mapped_) {
    for (const ByteRange& range : each.bytes) bytes.add(range);
  }
  return bytes;
}

void CoherentHostMemory::leave_out(ByteRange range, const Fetch* until) {
  for (Fetch* fetch : fetches_) {
    if (fetch == until) return;
    if (intersect(fetch->part.range, range)) fetch->left_out.add(range);
  }
}

void CoherentHostMemory::bring_back(Context& context) {
  if (!any()) return;
  const Buffers buffers = all_of(context);
  if (buffers.empty()) return;
  fetch(missing_parts(context, buffers));
}

CoherentHostMemory::Buffers CoherentHostMemory::all_of(const Context& context) {
  MutexLock lock(live().mutex);
  Buffers buffers;
  const auto at = live().contexts.find(&context);
  if (at == live().contexts.end()) return buffers;
  for (MemoryObject* buffer : at->second.buffers) {
    if (buffer->try_retain()) buffers.push_back(Ref<MemoryObject>::adopt(buffer));
  }
  return buffers;
}

// The command that the application has waited for may itself have waited for commands of other queues.
void CoherentHostMemory::learn_ends(const Context& context, const Buffers& buffers) {
  const std::shared_ptr<CommandOrder> known = order(context);
  if (!known) return;
  known->learn([&buffers](CommandQueue& queue, std::uint64_t first, std::uint64_t last) REQUIRES(kMemoryMutex) {
    for (const Ref<MemoryObject>& buffer : buffers) {
      for (Write& write : buffer->storage().coherent->writes_) {
        const bool is_meant = write.queue.get() == &queue && write.sequence >= first && write.sequence <= last;
        write.is_over = write.is_over || is_meant;
      }
    }
  });
}

std::vector<CoherentHostMemory::Part> CoherentHostMemory::missing_parts(Context& context, const Buffers& buffers) {
  std::vector<Part> parts;
  const MutexLock lock(context.memory_mutex());
  learn_ends(context, buffers);
  for (const Ref<MemoryObject>& buffer : buffers) buffer->storage().coherent->add_missing(*buffer, parts);
  return parts;
}

void CoherentHostMemory::add_missing(MemoryObject& buffer, std::vector<Part>& parts) {
  BufferStorage& storage = buffer.storage();
  Context& context = buffer.context();
  settle_mapped();
  std::erase_if(writes_, [&storage](const Write& write) REQUIRES(kMemoryMutex) {
    return write.has_ended() && storage.residency.valid(write.range, kHost);
  });
  std::vector<ResidencyDirectory::HeldRange> missing;
  storage.residency.missing({0, size_}, kHost, missing);
  if (missing.empty()) return;
  RangeSet excluded = mapped_bytes();
  for (const Write& write : writes_) {
    if (!write.has_ended()) excluded.add(write.range);
  }
  for (const ResidencyDirectory::HeldRange& transfer : missing) {
    const std::optional<Location> from = holder(context, transfer);
    if (!from) continue;
    const Ref<CommandQueue> queue(&context.transfer_queue(context.device_at(*from)));
    excluded.for_each_missing(transfer.range, [&, writes = storage.writes](ByteRange range) {
      for (std::uint64_t at = 0; at < range.size; at += kPieceMax) {
        const ByteRange piece{range.offset + at, std::min(kPieceMax, range.size - at)};
        parts.push_back({Ref<MemoryObject>(&buffer), piece, queue, writes});
      }
    });
  }
}

// Prefers the holder that wrote the bytes: other holders may have to wait for their copy as long as their
// commands wait.
std::optional<Location> CoherentHostMemory::holder(Context& context,
                                                   const ResidencyDirectory::HeldRange& missing) const {
  std::optional<Location> any, writer;
  missing.holders.for_each([&](Location at) {
    kMemoryMutex.assume_held();  // by this function
    if (writer || context.device_at(at).session().lost()) return;
    const auto has_written = [&](const Write& write) {
      return write.location == at && intersect(write.range, missing.range);
    };
    if (std::any_of(writes_.begin(), writes_.end(), has_written)) writer = at;
    if (!any) any = at;
  });
  return writer ? writer : any;
}

void CoherentHostMemory::fetch(const std::vector<Part>& parts) {
  std::deque<Fetch> under_way;
  for (const Part& part : parts) {
    if (under_way.size() == kUnderWayMax) {
      arrived(under_way.front());
      under_way.pop_front();
    }
    if (!send(under_way.emplace_back(part))) under_way.pop_back();
  }
  for (const Fetch& fetch : under_way) arrived(fetch);
}

// Returns false if the server is lost, and the bytes with it.
bool CoherentHostMemory::send(Fetch& fetch) {
  const Part& part = fetch.part;
  {
    const MutexLock lock(part.buffer->context().memory_mutex());
    fetch.is_limited = part.buffer->content_size_buffer() != nullptr;
    if (fetch.is_limited) part.buffer->storage().coherent->shadow_.copy(part.range, fetch.bytes.get());
  }
  struct IsFetching {
    IsFetching() { t_is_fetching = true; }
    ~IsFetching() { t_is_fetching = false; }
  } const is_fetching;
  Event* event = nullptr;
  const cl_int error = enqueue_read(*part.queue, *part.buffer, false, part.range.offset, part.range.size,
                                    fetch.bytes.get(), {}, &event, CL_COMMAND_READ_BUFFER, fetch.bytes);
  if (error != CL_SUCCESS) return false;
  fetch.event = Ref<Event>::adopt(event);
  return true;
}

void CoherentHostMemory::arrived(const Fetch& fetch) {
  const cl_int status = fetch.event->wait();
  const Part& part = fetch.part;
  Context& context = part.buffer->context();
  const MutexLock lock(context.memory_mutex());
  BufferStorage& storage = part.buffer->storage();
  // The read has ended, so nothing has to wait for it.
  std::erase_if(storage.site(part.queue->location()).users, [&](const Site::User& user) {
    return user.queue == part.queue && user.uses.last == fetch.event->sequence();
  });
  if (status != CL_COMPLETE) return;
  CoherentHostMemory& self = *storage.coherent;
  RangeSet left_out = self.mapped_bytes();
  for (const ByteRange& range : fetch.left_out.ranges()) left_out.add(range);
  left_out.for_each_missing(part.range, [&](ByteRange range) {
    kMemoryMutex.assume_held();  // by this function
    self.leave_out(range, &fetch);
    self.shadow_.merge(range, fetch.bytes.get() + (range.offset - part.range.offset));
    if (!fetch.is_limited && storage.writes == part.writes) storage.residency.add_holder(range, kHost);
  });
}

}  // namespace remotecl
