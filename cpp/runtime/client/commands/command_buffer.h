#pragma once

#include <map>
#include <span>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/base/mutex.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/objects/handle.h"
#include "runtime/memory/range_set.h"
#include "runtime/protocol/command_buffer_types.h"

struct _cl_command_buffer_khr : remotecl::HandleBase {};

namespace remotecl {

using SyncPoints = std::span<const cl_sync_point_khr>;

// Commands that are recorded in this process, sent once to the server of their queue when the recording ends,
// and replayed by one message. Keeps the queue, buffers and kernels of its commands. Any thread.
class CommandBuffer final
    : public Handle<_cl_command_buffer_khr, HandleTag::kCommandBuffer, CL_INVALID_COMMAND_BUFFER_KHR> {
 public:
  CommandBuffer(Ref<CommandQueue> queue, cl_command_buffer_flags_khr flags,
                std::vector<cl_command_buffer_properties_khr> properties);

  CommandQueue& queue() const { return *queue_; }
  const std::vector<cl_command_buffer_properties_khr>& properties() const { return properties_; }

  // Returns true if all of these sync points belong to recorded commands.
  bool has_points(SyncPoints points);
  // Adds a command whose arguments have been checked, and `wait` by has_points(). Returns CL_SUCCESS,
  // CL_INVALID_OPERATION after the recording has ended, or CL_OUT_OF_RESOURCES if it gets too long.
  // `sync_point`, if not null, receives the command's sync point.
  cl_int record_kernel(Kernel& kernel, const NDRange& range, SyncPoints wait, cl_sync_point_khr* sync_point);
  cl_int record_copy(MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                     std::uint64_t destination_offset, std::uint64_t size, SyncPoints wait,
                     cl_sync_point_khr* sync_point);
  cl_int record_copy_rect(MemoryObject& source, MemoryObject& destination, const Rectangle& source_rectangle,
                          const Rectangle& destination_rectangle, const Extent& region, SyncPoints wait,
                          cl_sync_point_khr* sync_point);
  cl_int record_fill(MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size, SyncPoints wait,
                     cl_sync_point_khr* sync_point);
  cl_int record_copy_image(MemoryObject& source, MemoryObject& destination, const Extent& source_origin,
                           const Extent& destination_origin, const Extent& region, SyncPoints wait,
                           cl_sync_point_khr* sync_point);
  cl_int record_fill_image(MemoryObject& image, const std::array<std::uint32_t, 4>& color, const Extent& origin,
                           const Extent& region, SyncPoints wait, cl_sync_point_khr* sync_point);
  // Between an image and packed pixels at an offset of a buffer.
  cl_int record_copy_pixels(MemoryObject& image, MemoryObject& buffer, bool to_buffer, const Extent& origin,
                            const Extent& region, std::uint64_t offset, SyncPoints wait, cl_sync_point_khr* sync_point);
  // A barrier, or a command that does nothing.
  cl_int record_point(bool is_barrier, SyncPoints wait, cl_sync_point_khr* sync_point);

  bool is_recording();
  // Returns CL_INVALID_OPERATION if it has ended before.
  cl_int end_recording();
  // Returns CL_INVALID_OPERATION before the recording has ended, or while a replay runs and only one is
  // allowed. `queue` is compatible with queue().
  cl_int enqueue(CommandQueue& queue, WaitList wait, Event** event);
  cl_command_buffer_state_khr state();

 private:
  struct Record {
    std::uint16_t code;
    std::size_t offset, size;  // in recording_
  };
  // The ranges of one root buffer that all commands together use.
  struct Access {
    Ref<MemoryObject> root;
    RangeSet reads;  // what a replay reads before it writes there
    RangeSet writes;
  };
  struct NamedUses;
  struct ReplayPlan;
  struct Replay {
    Ref<CommandQueue> queue;
    std::uint64_t sequence = 0;
    Ref<Event> event;  // null: the application did not ask for one
  };

  ~CommandBuffer() override;
  template <class Message>
  cl_int append(Message message, SyncPoints wait, cl_sync_point_khr* sync_point) REQUIRES(mutex_);
  Access& access(MemoryObject& buffer) REQUIRES(mutex_);
  template <class Message>
  cl_int record(const NamedUses& uses, Message message, SyncPoints wait, cl_sync_point_khr* sync_point)
      REQUIRES(mutex_);
  template <class Plan>
  cl_int record(const Plan& plan, SyncPoints wait, cl_sync_point_khr* sync_point);
  void remember(Replay replay) REQUIRES(mutex_);
  // False if all replays are known to have ended.
  bool may_be_pending() const REQUIRES(mutex_);
  // Asks the server if it alone knows, without the lock: the server may have stopped.
  bool is_pending() EXCLUDES(mutex_);

  const Ref<CommandQueue> queue_;
  const bool simultaneous_;
  const std::vector<cl_command_buffer_properties_khr> properties_;
  const ObjectId id_ = next_id();

  Mutex mutex_;  // taken after the context's memory mutex, and before a kernel's
  bool recording_ended_ GUARDED_BY(mutex_) = false;
  ByteBuffer recording_ GUARDED_BY(mutex_);
  std::vector<Record> records_ GUARDED_BY(mutex_);
  std::map<MemoryObject*, Access> accesses_ GUARDED_BY(mutex_);  // by root
  std::map<MemoryObject*, Ref<MemoryObject>> buffers_ GUARDED_BY(mutex_);
  std::map<Kernel*, Ref<Kernel>> kernels_ GUARDED_BY(mutex_);
  std::map<Sampler*, Ref<Sampler>> samplers_ GUARDED_BY(mutex_);
  Replay newest_ GUARDED_BY(mutex_);
  std::uint64_t replays_ GUARDED_BY(mutex_) = 0;
  bool others_may_be_pending_ GUARDED_BY(mutex_) = false;  // older replays than the newest one
};

}  // namespace remotecl
