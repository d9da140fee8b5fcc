#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/client/commands/commands.h"
#include "runtime/client/commands/event_ids.h"
#include "runtime/client/objects/command_queue.h"
#include "runtime/client/objects/memory_object.h"
#include "runtime/client/trace/tracer.h"
#include "runtime/memory/transfer_source.h"

namespace remotecl {

using ServerPair = std::pair<Session*, Session*>;

// Brings what a command reads to its device and collects what the command has to wait for. One thread.
class TransferPlanner {
 public:
  // For a command of `queue`.
  explicit TransferPlanner(CommandQueue& queue);
  // The command's position in its queue. Call it before anything else.
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }
  // The events that the application gave the command to wait for; the caller keeps them. waits_for() gets them, too.
  void set_given(WaitList events) { given_ = events; }
  // The command's trace record, or null.
  void set_record(TraceRecord* record) { record_ = record; }

  // CL_SUCCESS, or the reason why the command cannot be executed (server lost, data lost, missing_link()).
  cl_int error() const { return error_; }
  // The command cannot be sent for this reason.
  void refuse(cl_int error) {
    if (error_ == CL_SUCCESS) error_ = error;
  }
  // Two servers between which a link should be made before the command is planned anew. Nothing is made here, because
  // others wait for the context's memory mutex.
  const std::optional<ServerPair>& missing_link() const { return missing_link_; }
  // Brings those of these bytes that the device lacks.
  void reads(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  // Like reads(), but brings nothing; only orders the command after transfers on their way to these bytes. A
  // failed transfer from another server does not harm the command.
  void overwrites(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  // Whether the last call of reads() has named all of these bytes.
  bool has_read(const BufferStorage& storage, ByteRange range) const {
    return last_read_.storage == &storage && contains(last_read_.range, range);
  }
  // The command overwrites these bytes, or does not begin: brings them first, so that they are there in either case.
  // Returns false, and brings nothing, if nobody has all of them any more.
  bool preserves(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  // The command that writes these bytes has been sent.
  void overwritten(BufferStorage& storage, ByteRange range) REQUIRES(kMemoryMutex);
  void waits_for(Event& event);
  void waits_for_end(Event& event);  // whether it succeeds or fails
  // For a transfer that limits itself to the content of `buffer`. Returns 0, or the id of the content-size
  // buffer, whose newest value has then been brought too. If the value is known in this process, cuts `range`
  // to it.
  ObjectId limit_to_content(MemoryObject& buffer, ByteRange& range) REQUIRES(kMemoryMutex);

  // The record of a transfer by `queue`, to be committed when the transfer is sent; null without a trace.
  // Null as `from` or `to` stands for this process.
  static TraceRecordOwner record_of(MemoryObject& root, std::uint64_t size, Device* from, CommandQueue& queue,
                                    Device* to);

  // Whether the command reads bytes of a large transfer that may not have ended.
  bool follows_large_transfer() const { return follows_large_transfer_; }
  // Call it last, when the command is sent.
  Array<EventId> wait_list();
  // The command will not be sent, so nothing waits for the bytes brought.
  void abandon() REQUIRES(kMemoryMutex);

 private:
  using Missing = ResidencyDirectory::HeldRange;
  // The size of a relay's pieces: large enough to keep the links of both servers busy.
  static constexpr std::uint64_t kRelayPieceSize = 8u << 20;
  static constexpr std::uint64_t kRelayPiecesMax = 4;                 // in this process's memory at a time
  static constexpr ByteRange kContentSize{0, sizeof(std::uint64_t)};  // the value in a content-size buffer

  // Of another server, or of none.
  struct Foreign {
    Ref<Event> event;
    bool is_linked;  // its server with this one
  };

  // From a server to this one.
  struct Push {
    CommandQueue& sender;
    CommandQueue& receiver;
    const ByteRange range;
    const ObjectId content_size;  // of the buffer that limits it; 0: none does
    const InboundTransfer* followed = nullptr;
    std::vector<EventId> written{}, after{};  // what the sender and the receiver wait for
    Ref<Event> arrival{};
    const TransferId transfer = next_id();

    bool is_large() const { return range.size > kInlineDataMax; }
  };

  Session& session() const { return queue_.session(); }
  void needs_link(ServerPair pair) {
    missing_link_ = pair;
    error_ = CL_DEVICE_NOT_AVAILABLE;
  }
  bool waits_already(const Event& event) const { return wait_ids_.contains(event.id()); }
  Context& context() const { return queue_.context(); }
  void touches(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  // Like reads(), for bytes that no command of the application reads.
  void brings(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  void fetch(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  // Returns the event of the last writing command of `user`, if the command waits for it and it ends after all other
  // writers of `user`; else null. Takes it out of the wait list if it is of another server.
  const Event* take_write_event(const Site::User& user);
  // Returns the event of a later command, which comes after the writers of `user`, if the command waits for it; else
  // null.
  Event* find_later_event(const Site::User& user) const;
  // Returns what a command of the same server waits for to come after the writers of `user`.
  EventId end_of_writers(const Site::User& user) REQUIRES(kMemoryMutex);
  // Adds what decides whether the bytes at a location of a server are right to what one of its commands waits for.
  void rely_on(BufferStorage& storage, ByteRange range, Location at, EventIds& waits) REQUIRES(kMemoryMutex);
  // The host has these bytes, but the command that was to send them to a device, too, may not begin: then who uses them
  // fails as well. Returns false, with an error, if a link is missing.
  bool waits_for_doubt(const Missing& part);
  // Returns false, with an error, if every holder is on a lost server or a link is missing.
  bool choose_source(BufferStorage& storage, const Missing& missing, TransferSource& chosen) REQUIRES(kMemoryMutex);
  std::vector<TransferSource> possible_sources(BufferStorage& storage, const Missing& missing) const
      REQUIRES(kMemoryMutex);
  void upload(MemoryObject& root, const Missing& missing) REQUIRES(kMemoryMutex);
  static const InboundTransfer* followed_at(BufferStorage& storage, Location from, ByteRange range)
      REQUIRES(kMemoryMutex);
  void push(MemoryObject& root, const Missing& missing, const TransferSource& chosen) REQUIRES(kMemoryMutex);
  void send(MemoryObject& root, const Push& push, std::uint64_t traced);
  void observe(const Push& push);
  void transfer(MemoryObject& root, const Missing& missing, Location from) REQUIRES(kMemoryMutex);
  void relay(MemoryObject& root, const Missing& missing, Location from) REQUIRES(kMemoryMutex);
  static std::vector<ByteRange> relay_pieces(const MemoryObject& root, ByteRange range);
  Ref<Event> relay_read(MemoryObject& root, ByteRange piece, Location from, const std::shared_ptr<std::byte[]>& slot,
                        Event* slot_free) REQUIRES(kMemoryMutex);
  Ref<Event> relay_write(MemoryObject& root, ByteRange piece, const std::shared_ptr<std::byte[]>& slot, Event& fetched,
                         const Ref<Event>& sent) REQUIRES(kMemoryMutex);
  void arriving(MemoryObject& root, const Missing& missing, Location from, InboundTransfer arrival,
                bool is_limited = false) REQUIRES(kMemoryMutex);
  // Does what limit_to_content() can do without a message.
  static void limit_to_known_content(MemoryObject& buffer, ByteRange& range) REQUIRES(kMemoryMutex);
  // Drops limited copies of these bytes whose content size has changed since.
  static void settle_limited_copies(MemoryObject& buffer, ByteRange range) REQUIRES(kMemoryMutex);
  void copied(MemoryObject& root, ByteRange range, Location from, bool is_limited) REQUIRES(kMemoryMutex);
  CommandQueue& receiver(std::uint64_t size) const REQUIRES(kMemoryMutex);
  // These return an event of their argument's server that succeeds when all commands of the queue so far have ended in
  // any way, or these and those before them in order; or the command of the event, with those before it if `in_order`.
  EventId mark(CommandQueue& queue);
  EventId end_of_commands(CommandQueue& queue, Site::Commands commands) REQUIRES(kMemoryMutex);
  EventId end_of_event(CommandQueue& queue, EventId event, bool in_order);
  EventId end_of_event(Event& event, bool in_order) { return end_of_event(*event.queue(), event.id(), in_order); }
  std::vector<EventId> after_users(MemoryObject& root, ByteRange range, const CommandQueue& receiver,
                                   TraceRecord* record) REQUIRES(kMemoryMutex);
  std::vector<EventId> after_writers(MemoryObject& root, ByteRange range, Location at, TraceRecord* record,
                                     const InboundTransfer* but = nullptr) REQUIRES(kMemoryMutex);

  CommandQueue& queue_;
  const Location location_;
  TraceRecord* record_ = nullptr;
  std::uint64_t sequence_ = 0;
  WaitList given_;
  cl_int error_ = CL_SUCCESS;
  EventIds wait_ids_;
  std::optional<ServerPair> missing_link_;
  std::vector<Foreign> elsewhere_;                         // awaited, not announced yet
  std::vector<Ref<Event>> held_;                           // held until the commands that name them have been sent
  std::vector<Ref<CommandQueue>> unneeded_;                // released with the planner
  std::vector<std::unique_ptr<TransferPlanner>> sources_;  // of transfers from other servers; what they hold, too
  struct Brought {
    BufferStorage* storage;
    ByteRange range;
    const Event* event;
  };
  std::vector<Brought> brought_;
  bool follows_large_transfer_ = false;
  struct {
    const BufferStorage* storage = nullptr;
    ByteRange range{};
  } last_read_;
};

// Sends a write of `size` bytes at `memory`, which stay valid as long as `keep_alive`. Small data go inside
// the message. Large data, and `late` data that are still on their way to this process, become a transfer
// that the server pulls when it is ready, and whose id is returned.
// `record`: see Tracer::send().
TransferId send_write(CommandQueue& queue, EventId event, const MemoryObject& object, std::uint64_t offset,
                      std::byte* memory, std::uint64_t size, Array<EventId> wait_list, std::shared_ptr<void> keep_alive,
                      bool late, std::uint64_t record) REQUIRES(kMemoryMutex);

}  // namespace remotecl
