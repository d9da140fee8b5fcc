#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/client/objects/event.h"
#include "runtime/client/objects/memory_mutex.h"
#include "runtime/memory/host_shadow.h"
#include "runtime/memory/range_set.h"

namespace remotecl {

class CommandOrder;
class MemoryObject;

// REMOTECL_HOST_POINTERS=coherent: the application's memory of a buffer with CL_MEM_USE_HOST_PTR stays equal
// to the devices' copies without being mapped, as with CPU drivers. A command that uses the buffer first
// picks up what the application has written since. When the application waits, it gets what commands have
// written by then. Both are found as differences to a second copy, the shadow.
//
// Belongs to the buffer's storage, which has none without the variable; then nothing here is called.
class CoherentHostMemory {
 public:
  // Throws std::bad_alloc.
  CoherentHostMemory(std::byte* memory, std::uint64_t size) : memory_(memory), shadow_(memory, size), size_(size) {}

  // If the variable is set, gives `buffer`, which is new and has memory of the application, one that lasts
  // until its end. Throws std::bad_alloc. Any thread.
  static void attach(MemoryObject& buffer);
  // Returns true if any exists. Any thread.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }

  // Records which commands of this context waited for which. Null if the context has no coherent memory.
  static std::shared_ptr<CommandOrder> order(const Context& context) { return any() ? find_order(context) : nullptr; }
  // The application has waited in this context: brings what ended commands have written to the memory of its
  // buffers. Waits for no other command. Any thread that may block and holds no lock.
  static void bring_back(Context& context);
  // A command uses these bytes. `sequence` is its position in its queue; 0: no command uses them.
  void before_use(MemoryObject& buffer, ByteRange range, const CommandQueue& queue, std::uint64_t sequence)
      REQUIRES(kMemoryMutex);
  // A command that writes these bytes has been sent. `event` may be null.
  void written(CommandQueue& queue, std::uint64_t sequence, Event* event, ByteRange range) REQUIRES(kMemoryMutex);
  // Mapped bytes belong to the application and are moved by mapping and unmapping. `bytes` is sorted and not
  // empty; unmapped() gets the same value. Unmapped bytes that are still on their way to this process count
  // as mapped until they have arrived.
  using Ranges = std::vector<ByteRange>;
  void mapped(MemoryObject& buffer, const Ranges& bytes) REQUIRES(kMemoryMutex);
  void unmapped(const Ranges& bytes) REQUIRES(kMemoryMutex);

 private:
  static void remove(MemoryObject& buffer);
  [[gnu::cold]] static std::shared_ptr<CommandOrder> find_order(const Context& context);
  struct Write {
    Ref<CommandQueue> queue;
    std::uint64_t sequence;
    Ref<Event> event;  // may be null
    ByteRange range;
    Location location;
    bool is_over = false;  // known from commands that waited for it

    bool has_ended() const { return is_over || queue->ended_sequence() >= sequence || (event && event->ended()); }
  };
  struct Use {
    const CommandQueue* queue = nullptr;
    std::uint64_t sequence = 0;
    ByteRange range{};

    friend bool operator==(const Use&, const Use&) = default;
  };
  // Bytes that a device holds and this process lacks.
  struct Part {
    Ref<MemoryObject> buffer;
    ByteRange range;
    Ref<CommandQueue> queue;  // of the device
    std::uint64_t writes;     // BufferStorage::writes
  };
  struct Mapped {
    Ranges bytes;
    std::shared_ptr<std::atomic<bool>> are_here;  // null until it is unmapped
  };
  struct Fetch;

  using Buffers = std::vector<Ref<MemoryObject>>;

  static Buffers all_of(const Context& context);
  static void learn_ends(const Context& context, const Buffers& buffers) REQUIRES(kMemoryMutex);
  static std::vector<Part> missing_parts(Context& context, const Buffers& buffers);
  static void fetch(const std::vector<Part>& parts);
  static bool send(Fetch& fetch);
  static void arrived(const Fetch& fetch);
  // The bytes in this process are newer than what the running fetches bring: all fetches, or those that began
  // before `until`.
  void leave_out(ByteRange range, const Fetch* until = nullptr) REQUIRES(kMemoryMutex);
  void take_changes(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  void settle_mapped() REQUIRES(kMemoryMutex);
  RangeSet mapped_bytes() const REQUIRES(kMemoryMutex);
  void add_missing(MemoryObject& buffer, std::vector<Part>& parts) REQUIRES(kMemoryMutex);
  // Empty if no reachable server has the bytes.
  std::optional<Location> holder(Context& context, const ResidencyDirectory::HeldRange& missing) const
      REQUIRES(kMemoryMutex);

  static std::atomic<std::size_t> count_;

  std::byte* const memory_;
  HostShadow shadow_ GUARDED_BY(kMemoryMutex);
  const std::uint64_t size_;
  Use last_use_ GUARDED_BY(kMemoryMutex);
  std::vector<Write> writes_ GUARDED_BY(kMemoryMutex);  // whose bytes this process may lack
  std::vector<Mapped> mapped_ GUARDED_BY(kMemoryMutex);
  std::vector<Fetch*> fetches_ GUARDED_BY(kMemoryMutex);  // running, the oldest first
};

}  // namespace remotecl
