#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/protocol/frames.h"
#include "server/memory/region.h"
#include "server/transfer/transfer.h"

// Bulk bytes that pass through pinned memory, piece by piece.
namespace remotecl::server {

class StagedWrite final : public IncomingTransfer {
 public:
  StagedWrite(TransferId id, Queue& queue, Event* event, EventId hold, Region region, cl_mem memory)
      : IncomingTransfer(id, queue, event, hold, region.size), region_(std::move(region)), memory_(memory) {}

  bool receive(BulkInput& input, std::uint32_t size, StagingSet& staging) override {
    StagingRing& ring = staging.ring(queue().device());
    const auto piece_size = static_cast<std::uint32_t>(ring.piece_size(this->size(), input.streams()));
    std::uint64_t offset = this->size() - left();
    while (size != 0) {
      const std::uint32_t piece = std::min(size, piece_size);
      cl_int error = CL_SUCCESS;
      auto& slot = ring.next(error);
      if (!input.receive(ring.memory(slot, piece))) return false;
      if (error == CL_SUCCESS && this->error() == CL_SUCCESS) error = write(slot.data, offset, piece, slot.busy);
      if (error != CL_SUCCESS) set_error(error);
      if (slot.busy) queue().turn().add_bytes(piece, slot.busy.get());
      offset += piece;
      size -= piece;
    }
    return true;
  }
  Native<cl_event> written(std::uint64_t size) override {
    MutexLock lock(mutex_);
    const auto at =
        std::find_if(pieces_.begin(), pieces_.end(), [size](const Piece& piece) { return piece.end >= size; });
    return at == pieces_.end() ? Native<cl_event>() : at->event.copy();
  }
  cl_int finish(Native<cl_event>& native) override {
    // In an in-order queue the last piece ends last and has times, while NVIDIA's driver gives none to a
    // marker.
    const NativeEvents events = piece_events();
    if (events.count() == 0) return queue().device().ended_event(native.out());
    if (queue().in_order()) {
      native = Native<cl_event>::retained(events.get().back());
      return CL_SUCCESS;
    }
    return clEnqueueMarkerWithWaitList(queue().native(), events.count(), events.list(), native.out());
  }
  // A failed transfer waits for its writes, because commands that overwrite them may come next.
  void ended(cl_int status) override REQUIRES(session_lock) {
    IncomingTransfer::ended(status);
    if (status >= 0) return;
    const NativeEvents events = piece_events();
    if (events.count() != 0) clWaitForEvents(events.count(), events.list());
  }

 private:
  struct Piece {
    std::uint64_t end;
    Native<cl_event> event;
  };

  NativeEvents piece_events() EXCLUDES(mutex_) {
    std::vector<cl_event> events;
    MutexLock lock(mutex_);
    for (const Piece& piece : pieces_) events.push_back(piece.event.get());
    return NativeEvents(events);
  }
  void put(std::shared_ptr<std::byte[]> bytes) override {
    early_ = std::move(bytes);
    Native<cl_event> busy;
    const cl_int error = write(early_.get(), 0, static_cast<std::uint32_t>(size()), busy);
    if (error != CL_SUCCESS) set_error(error);
  }
  // `busy` receives the event.
  cl_int write(const std::byte* from, std::uint64_t offset, std::uint32_t size, Native<cl_event>& busy) {
    Native<cl_event> event;
    const cl_int error = clEnqueueWriteBuffer(queue().native(), memory_, CL_FALSE, region_.offset + offset, size, from,
                                              0, nullptr, event.out());
    if (error != CL_SUCCESS) return error;
    clFlush(queue().native());
    busy = event.copy();
    if (!first()) set_first(event.copy());
    MutexLock lock(mutex_);
    pieces_.push_back({offset + size, std::move(event)});
    return CL_SUCCESS;
  }

  const Region region_;
  const cl_mem memory_;
  std::shared_ptr<std::byte[]> early_;
  Mutex mutex_;  // cut-through sends also look at the pieces
  std::vector<Piece> pieces_ GUARDED_BY(mutex_);
};

class StagedRead final : public OutgoingTransfer {
 public:
  StagedRead(TransferId id, Queue& queue, Event* event, EventId hold, Region region, cl_mem memory)
      : OutgoingTransfer(id, queue, event, hold, region.size), region_(std::move(region)), memory_(memory) {}

  bool send(BulkTransport& transport, StagingSet& staging, const Between& between) override {
    StagingRing& ring = staging.ring(queue().device());
    piece_size_ = ring.piece_size(size(), transport.streams());
    std::uint64_t sent = 0, asked = 0;
    std::array<StagingRing::Slot*, StagingRing::kSlots> slots{};
    for (std::size_t at = 0; sent < size(); ++at) {
      // Read ahead into all slots but one, whose bytes are being sent.
      while (asked < size() && asked - sent < piece_size_ * (StagingRing::kSlots - 1)) {
        slots[(asked / piece_size_) % StagingRing::kSlots] = &ask(ring, asked, transport);
        asked += piece_at(asked);
      }
      StagingRing::Slot& slot = *slots[at % StagingRing::kSlots];
      if (slot.busy && clWaitForEvents(1, slot.busy.list()) != CL_SUCCESS) set_error(CL_OUT_OF_RESOURCES);
      if (error() != CL_SUCCESS) return true;  // the rest is not sent
      if (!send_chunks(transport, ring.memory(slot, piece_at(sent)), between)) return false;
      slot.borrowed_until = transport.bytes_sent();
      sent += piece_at(sent);
    }
    return true;
  }
  cl_int finish(Native<cl_event>& native) override {
    native = last_.copy();
    return native ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
  }

 private:
  std::size_t piece_at(std::uint64_t offset) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(size() - offset, piece_size_));
  }
  StagingRing::Slot& ask(StagingRing& ring, std::uint64_t offset, BulkTransport& transport) {
    cl_int error = CL_SUCCESS;
    auto& slot = ring.next(error);
    transport.reclaim(slot.borrowed_until);
    error = clEnqueueReadBuffer(queue().native(), memory_, CL_FALSE, region_.offset + offset, piece_at(offset),
                                slot.data, 0, nullptr, slot.busy.out());
    if (error != CL_SUCCESS) {
      slot.busy.detach();
      set_error(error);
      return slot;
    }
    clFlush(queue().native());
    queue().turn().add_bytes(piece_at(offset), slot.busy.get());
    if (!first()) set_first(slot.busy.copy());
    last_ = slot.busy.copy();
    return slot;
  }

  const Region region_;
  const cl_mem memory_;
  std::size_t piece_size_ = 0;
  Native<cl_event> last_;
};

}  // namespace remotecl::server
