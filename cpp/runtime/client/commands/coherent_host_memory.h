#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/client/objects/event.h"
#include "runtime/memory/host_shadow.h"
#include "runtime/memory/range_set.h"

namespace remotecl {

class CommandOrder;
class MemoryObject;

// REMOTECL_HOST_POINTERS=coherent: the application's memory of a buffer with CL_MEM_USE_HOST_PTR is kept equal to the
// devices' without being mapped, as drivers of processors have it. A command that uses the buffer looks first for what
// the application has written since; and where the application waits, what commands have written by then is fetched.
// Both are found as differences to a second copy, the shadow.
//
// Belongs to the buffer's storage; null there without the variable, and nothing of this is called. Requires the
// context's memory_mutex, but for what is static.
class CoherentHostMemory {
 public:
  // Throws std::bad_alloc.
  CoherentHostMemory(std::byte* memory, std::uint64_t size) : memory_(memory), shadow_(memory, size), size_(size) {}

  // Where the variable wants it: `buffer`, new and with memory of the application's, gets one until its end. Throws
  // std::bad_alloc. Any thread.
  static void attach(MemoryObject& buffer);
  // Whether there is any. Any thread.
  static bool any() { return count_.load(std::memory_order_relaxed) != 0; }

  // Commands' waits in this context; null without any of its memory.
  static std::shared_ptr<CommandOrder> order(const Context& context) { return any() ? find_order(context) : nullptr; }
  // The application has waited for something in this context: brings what commands that have ended have written to the
  // memory of its buffers. Waits for no other command. Any thread that may block, without a lock.
  static void bring_back(Context& context);
  // A command uses these bytes. `sequence` names it in its queue; 0: nothing does.
  void before_use(MemoryObject& buffer, ByteRange range, const CommandQueue& queue, std::uint64_t sequence);
  // A command that writes these bytes has been sent. `event` may be null.
  void written(CommandQueue& queue, std::uint64_t sequence, Event* event, ByteRange range);
  // While bytes are mapped they are the application's, and travel by mapping and unmapping. `bytes`, of which there
  // are some, in order; unmapped() is told the same. Those that are still on their way here count as mapped until
  // they have come.
  using Ranges = std::vector<ByteRange>;
  void mapped(MemoryObject& buffer, const Ranges& bytes);
  void unmapped(const Ranges& bytes);

 private:
  static void remove(MemoryObject& buffer);
  [[gnu::cold]] static std::shared_ptr<CommandOrder> find_order(const Context& context);
  struct Write {
    Ref<CommandQueue> queue;
    std::uint64_t sequence;
    Ref<Event> event;  // may be null
    ByteRange range;
    Location location;
    bool is_over = false;  // as is known from others

    bool has_ended() const { return is_over || queue->ended_sequence() >= sequence || (event && event->ended()); }
  };
  struct Use {
    const CommandQueue* queue = nullptr;
    std::uint64_t sequence = 0;
    ByteRange range{};

    friend bool operator==(const Use&, const Use&) = default;
  };
  // Bytes that a device has, and this process has not.
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
  static void learn_ends(const Context& context, const Buffers& buffers);
  static std::vector<Part> missing_parts(Context& context, const Buffers& buffers);
  static void fetch(const std::vector<Part>& parts);
  static bool send(Fetch& fetch);
  static void arrived(const Fetch& fetch);
  // The bytes here are newer than what fetches under way bring: all of them, or those that began before `until`.
  void leave_out(ByteRange range, const Fetch* until = nullptr);
  void take_changes(MemoryObject& buffer, ByteRange range);
  void settle_mapped();
  RangeSet mapped_bytes() const;
  void add_missing(MemoryObject& buffer, std::vector<Part>& parts);
  // Empty when no server that can be reached has the bytes.
  std::optional<Location> holder(Context& context, const ResidencyDirectory::Transfer& missing) const;

  static std::atomic<std::size_t> count_;

  std::byte* const memory_;
  HostShadow shadow_;
  const std::uint64_t size_;
  Use last_use_;
  std::vector<Write> writes_;  // whose bytes may be missing here
  std::vector<Mapped> mapped_;
  std::vector<Fetch*> fetches_;  // under way, the oldest first
};

}  // namespace remotecl
