#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/trace/tracer.h"
#include "runtime/memory/transfer_source.h"

namespace remotecl {

// Brings what a command reads to its device, and collects what the command has to wait for. Requires the context's
// memory_mutex all its life. One thread.
class TransferPlanner {
 public:
  // For a command of `queue`.
  explicit TransferPlanner(CommandQueue& queue);
  // The command's place in its queue, to be set before anything else.
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }
  // What the trace says of the command, or null.
  void set_record(TraceRecord* record) { record_ = record; }

  // CL_SUCCESS, or why the command cannot be carried out (server lost, data lost).
  cl_int error() const { return error_; }
  // Brings these bytes where they are missing.
  void reads(MemoryObject& buffer, ByteRange range);
  // As reads(), but the bytes need not be there; only orders the command behind transfers on their way to them. Another
  // server's may fail without any harm to the command.
  void overwrites(MemoryObject& buffer, ByteRange range);
  // The command that writes these bytes has been sent.
  void overwritten(BufferStorage& storage, ByteRange range) const;
  void waits_for(Event& event);
  void waits_for_end(Event& event);  // however it ends
  // What a transfer that limits itself to the content of `buffer` needs: 0, or the id of its content-size buffer, whose
  // newest value has been brought, too. `range` is cut where the value is known here.
  ObjectId limit_to_content(MemoryObject& buffer, ByteRange& range);

  // The record of a transfer by `queue`, to be committed when it is sent; null while there is no trace. For `from` and
  // `to` null stands for this process.
  static TraceRecordOwner record_of(MemoryObject& root, std::uint64_t size, Device* from, CommandQueue& queue,
                                    Device* to);

  // After everything else, when the command is sent.
  Array<EventId> wait_list();
  // The command will not be sent: nobody waits for what has been brought.
  void abandon();

 private:
  using Missing = ResidencyDirectory::Transfer;
  // Of relays: enough for the links of both servers to stay busy.
  static constexpr std::uint64_t kRelayPieceSize = 8u << 20;
  static constexpr std::uint64_t kRelayPiecesMax = 4;                 // in this process's memory at a time
  static constexpr ByteRange kContentSize{0, sizeof(std::uint64_t)};  // the value in a content-size buffer

  Session& session() const { return queue_.session(); }
  bool waits_already(const Event& event) const {
    return std::find(wait_ids_.begin(), wait_ids_.end(), event.id()) != wait_ids_.end();
  }
  Context& context() const { return queue_.context(); }
  void touches(MemoryObject& buffer, ByteRange range);
  // reads(), by something that is no command of the application.
  void brings(MemoryObject& buffer, ByteRange range);
  void fetch(MemoryObject& buffer, ByteRange range);
  // The event of the last command of `user` that writes, if the command waits for it and it ends after all others that
  // do; else null.
  Ref<Event> take_write_event(const Site::User& user);
  // False when every holder is on a lost server.
  bool choose_source(BufferStorage& storage, const Missing& missing, TransferSource& chosen) const;
  void upload(MemoryObject& root, const Missing& missing);
  void push(MemoryObject& root, const Missing& missing, Location from);
  void transfer(MemoryObject& root, const Missing& missing, Location from);
  void relay(MemoryObject& root, const Missing& missing, Location from);
  Ref<Event> relay_read(MemoryObject& root, ByteRange piece, Location from, const std::shared_ptr<std::byte[]>& place,
                        Event* place_free);
  Ref<Event> relay_write(MemoryObject& root, ByteRange piece, const std::shared_ptr<std::byte[]>& place, Event& fetched,
                         const Ref<Event>& sent);
  void arriving(MemoryObject& root, const Missing& missing, Arrival arrival, bool is_limited = false);
  // The same as limit_to_content() where that needs no message.
  static void limit_to_known_content(MemoryObject& buffer, ByteRange& range);
  // Copies that are limited to a content that has changed since are none.
  static void settle_limited_copies(MemoryObject& buffer);
  void add_holder(MemoryObject& root, ByteRange range, bool is_limited);
  CommandQueue& receiver(std::uint64_t size) const;
  EventId mark(CommandQueue& queue);
  // An event that ends well when `event` has ended; null when it has.
  Ref<Event> end_of(Event& event);
  std::vector<EventId> after_users(MemoryObject& root, ByteRange range, const CommandQueue& receiver,
                                   TraceRecord* record);
  std::vector<EventId> after_writers(MemoryObject& root, ByteRange range, Location at, TraceRecord* record,
                                     const Arrival* but = nullptr);

  CommandQueue& queue_;
  const Location location_;
  TraceRecord* record_ = nullptr;
  std::uint64_t sequence_ = 0;
  cl_int error_ = CL_SUCCESS;
  std::vector<EventId> wait_ids_;
  std::vector<Ref<Event>> elsewhere_;  // events of others that the command waits for, not announced yet
  std::vector<Ref<Event>> held_;       // held until the commands that name them have been sent
  std::vector<std::pair<BufferStorage*, const Event*>> brought_;
};

// Sends a write of `size` bytes at `memory`, which stay valid as long as `keep_alive`: inside the message when small,
// else, or when they are `late`, that is still on their way to this process, as a transfer that the server pulls in its
// own time, whose id is returned. Requires the context's memory_mutex. `record`: as Tracer::send() takes it.
TransferId send_write(CommandQueue& queue, EventId event, const MemoryObject& object, std::uint64_t offset,
                      std::byte* memory, std::uint64_t size, Array<EventId> wait_list, std::shared_ptr<void> keep_alive,
                      bool late, std::uint64_t record);

}  // namespace remotecl
