#include "server/transfer/bulk_commands.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/protocol/frames.h"
#include "server/completion/completion_notifier.h"
#include "server/driver/mapping.h"
#include "server/transfer/direct_access.h"

namespace remotecl::server {
namespace {

// ---- straight into and out of the buffer's memory
// --------------------------------------------------------------------

// Where a buffer's bytes are in this process: the driver has mapped them, or need not be asked.
struct InPlace {
  Mapping mapping;
  Ref<Buffer> kept;  // without a mapping
  std::byte* memory = nullptr;

  void mapped() { memory = mapping.data(); }
  // Null without a mapping.
  cl_int finish(cl_event* native) { return mapping.data() != nullptr ? mapping.unmap(native) : CL_SUCCESS; }
};

class InPlaceWrite final : public IncomingTransfer {
 public:
  using IncomingTransfer::IncomingTransfer;
  InPlace place;

  bool receive(Connection& connection, std::uint32_t size, StagingSet&) override {
    return connection.read_exactly({place.memory + (this->size() - left()), size});
  }
  cl_int finish(cl_event* native) override { return place.finish(native); }
  // They stay where they are after the unmapping.
  const std::byte* host_memory() const override { return place.memory; }

 private:
  void put(std::shared_ptr<std::byte[]> bytes) override { std::memcpy(place.memory, bytes.get(), size()); }
};

class InPlaceRead final : public OutgoingTransfer {
 public:
  using OutgoingTransfer::OutgoingTransfer;
  InPlace place;

  bool send(Connection& connection, StagingSet&) override {
    return send_chunks(connection, id(), {place.memory, size()});
  }
  cl_int finish(cl_event* native) override { return place.finish(native); }
};

// ---- rectangles and pixels: packed in host memory
// --------------------------------------------------------------------

using PackedBytes = std::unique_ptr<std::byte[]>;

class PackedWrite final : public IncomingTransfer {
 public:
  PackedWrite(TransferId id, Queue& queue, Event* event, EventId hold, Region region, PackedBytes bytes)
      : IncomingTransfer(id, queue, event, hold, region.size), region_(std::move(region)), bytes_(std::move(bytes)) {}

  bool receive(Connection& connection, std::uint32_t size, StagingSet&) override {
    return connection.read_exactly({bytes_.get() + (this->size() - left()), size});
  }
  cl_int finish(cl_event* native) override {
    return region_.write(queue().device(), queue().native(), bytes_.get(), 0, nullptr, native);
  }
  const std::byte* host_memory() const override { return bytes_.get(); }

 private:
  void put(std::shared_ptr<std::byte[]> bytes) override { std::memcpy(bytes_.get(), bytes.get(), size()); }

  const Region region_;
  const PackedBytes bytes_;
};

class PackedRead final : public OutgoingTransfer {
 public:
  PackedRead(TransferId id, Queue& queue, Event* event, EventId hold, std::uint64_t size, PackedBytes bytes)
      : OutgoingTransfer(id, queue, event, hold, size), bytes_(std::move(bytes)) {}

  std::byte* data() { return bytes_.get(); }
  bool send(Connection& connection, StagingSet&) override {
    return send_chunks(connection, id(), {bytes_.get(), size()});
  }
  cl_int finish(cl_event* native) override {
    *native = first();
    return clRetainEvent(first());
  }

 private:
  const PackedBytes bytes_;
};

// ---- through pinned memory
// -------------------------------------------------------------------------------------------

class StagedWrite final : public IncomingTransfer {
 public:
  StagedWrite(TransferId id, Queue& queue, Event* event, EventId hold, Region region, cl_mem memory)
      : IncomingTransfer(id, queue, event, hold, region.size), region_(std::move(region)), memory_(memory) {}
  ~StagedWrite() override {
    for (const Piece& piece : pieces_) clReleaseEvent(piece.event);
  }

  bool receive(Connection& connection, std::uint32_t size, StagingSet& staging) override {
    StagingRing& ring = staging.ring(queue().device());
    const auto piece_size = static_cast<std::uint32_t>(StagingRing::piece_size(this->size(), connection.streams()));
    std::uint64_t offset = this->size() - left();
    while (size != 0) {
      const std::uint32_t piece = std::min(size, piece_size);
      cl_int error = CL_SUCCESS;
      auto& slot = ring.next(error);
      if (!connection.read_exactly({slot.data, piece})) return false;
      if (error == CL_SUCCESS && this->error() == CL_SUCCESS) error = write(slot.data, offset, piece, &slot.busy);
      if (error != CL_SUCCESS) set_error(error);
      if (slot.busy != nullptr) queue().turn().add_bytes(piece, slot.busy);
      offset += piece;
      size -= piece;
    }
    return true;
  }
  cl_event written(std::uint64_t size) override {
    MutexLock lock(mutex_);
    const auto at =
        std::find_if(pieces_.begin(), pieces_.end(), [size](const Piece& piece) { return piece.end >= size; });
    if (at == pieces_.end()) return nullptr;
    clRetainEvent(at->event);
    return at->event;
  }
  cl_int finish(cl_event* native) override {
    // In order the last piece ends last, and tells its times: NVIDIA's driver gives a marker none.
    MutexLock lock(mutex_);
    if (pieces_.empty()) return queue().device().ended_event(native);
    if (queue().in_order()) {
      *native = pieces_.back().event;
      return clRetainEvent(*native);
    }
    const std::vector<cl_event> events = piece_events();
    return clEnqueueMarkerWithWaitList(queue().native(), static_cast<cl_uint>(events.size()), events.data(), native);
  }
  // Of one that has failed, nothing is on its way any more: commands that overwrite it may come next.
  void ended(cl_int status) override {
    IncomingTransfer::ended(status);
    if (status >= 0) return;
    MutexLock lock(mutex_);
    const std::vector<cl_event> events = piece_events();
    if (!events.empty()) clWaitForEvents(static_cast<cl_uint>(events.size()), events.data());
  }

 private:
  struct Piece {
    std::uint64_t end;
    cl_event event;
  };

  std::vector<cl_event> piece_events() const REQUIRES(mutex_) {
    std::vector<cl_event> events;
    for (const Piece& piece : pieces_) events.push_back(piece.event);
    return events;
  }
  void put(std::shared_ptr<std::byte[]> bytes) override {
    early_ = std::move(bytes);
    const cl_int error = write(early_.get(), 0, static_cast<std::uint32_t>(size()), nullptr);
    if (error != CL_SUCCESS) set_error(error);
  }
  // `busy`: where the caller wants the event, too.
  cl_int write(const std::byte* from, std::uint64_t offset, std::uint32_t size, cl_event* busy) {
    cl_event event = nullptr;
    const cl_int error = clEnqueueWriteBuffer(queue().native(), memory_, CL_FALSE, region_.offset + offset, size, from,
                                              0, nullptr, &event);
    if (error != CL_SUCCESS) return error;
    clFlush(queue().native());
    if (busy != nullptr) {
      clRetainEvent(event);
      *busy = event;
    }
    {
      MutexLock lock(mutex_);
      pieces_.push_back({offset + size, event});
    }
    if (first() == nullptr) {
      clRetainEvent(event);
      set_first(event);
    }
    return CL_SUCCESS;
  }

  const Region region_;
  const cl_mem memory_;
  std::shared_ptr<std::byte[]> early_;
  Mutex mutex_;  // who follows looks at the pieces, too
  std::vector<Piece> pieces_ GUARDED_BY(mutex_);
};

class StagedRead final : public OutgoingTransfer {
 public:
  StagedRead(TransferId id, Queue& queue, Event* event, EventId hold, Region region, cl_mem memory)
      : OutgoingTransfer(id, queue, event, hold, region.size), region_(std::move(region)), memory_(memory) {}
  ~StagedRead() override {
    if (last_ != nullptr) clReleaseEvent(last_);
  }

  bool send(Connection& connection, StagingSet& staging) override {
    StagingRing& ring = staging.ring(queue().device());
    piece_size_ = StagingRing::piece_size(size(), connection.streams());
    std::uint64_t sent = 0, asked = 0;
    std::array<StagingRing::Slot*, StagingRing::kSlots> slots{};
    for (std::size_t at = 0; sent < size(); ++at) {
      // Ask ahead for as many pieces as there are slots, but one, whose bytes are being sent.
      while (asked < size() && asked - sent < piece_size_ * (StagingRing::kSlots - 1)) {
        slots[(asked / piece_size_) % StagingRing::kSlots] = &ask(ring, asked, connection);
        asked += piece_at(asked);
      }
      StagingRing::Slot& slot = *slots[at % StagingRing::kSlots];
      if (slot.busy != nullptr && clWaitForEvents(1, &slot.busy) != CL_SUCCESS) set_error(CL_OUT_OF_RESOURCES);
      if (error() != CL_SUCCESS) return true;  // the rest does not go
      if (!send_chunks(connection, id(), {slot.data, piece_at(sent)})) return false;
      slot.lent_until = connection.bytes_sent();
      sent += piece_at(sent);
    }
    return true;
  }
  cl_int finish(cl_event* native) override {
    *native = last_;
    return last_ == nullptr ? CL_OUT_OF_RESOURCES : clRetainEvent(last_);
  }

 private:
  std::size_t piece_at(std::uint64_t offset) const {
    return static_cast<std::size_t>(std::min<std::uint64_t>(size() - offset, piece_size_));
  }
  StagingRing::Slot& ask(StagingRing& ring, std::uint64_t offset, Connection& connection) {
    cl_int error = CL_SUCCESS;
    auto& slot = ring.next(error);
    connection.reclaim(slot.lent_until);
    error = clEnqueueReadBuffer(queue().native(), memory_, CL_FALSE, region_.offset + offset, piece_at(offset),
                                slot.data, 0, nullptr, &slot.busy);
    if (error != CL_SUCCESS) {
      slot.busy = nullptr;
      set_error(error);
      return slot;
    }
    clFlush(queue().native());
    queue().turn().add_bytes(piece_at(offset), slot.busy);
    if (first() == nullptr) {
      clRetainEvent(slot.busy);
      set_first(slot.busy);
    }
    clRetainEvent(slot.busy);
    if (last_ != nullptr) clReleaseEvent(last_);
    last_ = slot.busy;
    return slot;
  }

  const Region region_;
  const cl_mem memory_;
  std::size_t piece_size_ = 0;
  cl_event last_ = nullptr;
};

// ---- when they may start
// ---------------------------------------------------------------------------------------------

// What a transfer that may begin later needs for that, and keeps.
struct Road {
  TransferTable* transfers;
  Ref<BulkRoute> route;
  Ref<Strand> strand{&transfers->strand()};

  void start(Ref<IncomingTransfer> transfer) const { route->pull(std::move(transfer)); }
  void start(Ref<OutgoingTransfer> transfer) const { route->offer(std::move(transfer)); }
  void fail(const Ref<IncomingTransfer>& transfer, cl_int status) const {
    route->drop(transfer->id());
    transfers->fail(transfer, status);
  }
  void fail(const Ref<OutgoingTransfer>& transfer, cl_int status) const {
    route->refuse(transfer->id(), status);
    transfers->fail(transfer, status);
  }
};

// Starts the transfer when `event`, whose reference is taken, has ended.
template <class Direction>
void start_after(cl_event event, Road road, Ref<Direction> transfer) {
  const Strand* const order = road.strand.get();
  CompletionNotifier::notify(event, order, [road = std::move(road), transfer](cl_int status) {
    if (status == CL_COMPLETE) {
      road.start(transfer);
    } else {
      road.fail(transfer, status);
    }
  });
  clReleaseEvent(event);
}

// Starts the transfer when nothing natively enqueued comes before it any more.
template <class Direction>
cl_int start_in_order(Issue& issue, Road road, Ref<Direction> transfer) {
  if (issue.waits.empty() && (!issue.queue.in_order() || issue.queue.native_idle())) {
    issue.enqueued = false;
    road.start(std::move(transfer));
    return CL_SUCCESS;
  }
  cl_event marker = nullptr;
  const cl_int error = issue.waits.empty() ? issue.queue.mark(marker)
                                           : clEnqueueMarkerWithWaitList(issue.queue.native(), issue.wait_count(),
                                                                         issue.wait_list(), &marker);
  if (error == CL_SUCCESS) start_after<Direction>(marker, std::move(road), std::move(transfer));
  return error;
}

// Gives host memory for packed bytes, or null: the client chose the size.
PackedBytes allocate_packed(std::uint64_t size) { return PackedBytes(new (std::nothrow) std::byte[size]); }

template <class Direction, class Kind>
cl_int start_in_place(Issue& issue, Road road, const Region& region, cl_map_flags flags, Ref<Kind> transfer) {
  InPlace& place = transfer->place;
  if (std::byte* const memory = direct_access(issue, region)) {
    place.memory = memory;
    place.kept = region.buffer;
    issue.enqueued = false;
    road.start(Ref<Direction>(std::move(transfer)));
    return CL_SUCCESS;
  }
  cl_mem memory = nullptr;
  cl_int error = region.buffer->native(issue.queue.device(), memory);
  if (error != CL_SUCCESS) return error;
  cl_event mapped = nullptr;
  error = place.mapping.map(issue.queue.native(), memory, flags, region.offset, region.size, issue.wait_count(),
                            issue.wait_list(), &mapped);
  if (error != CL_SUCCESS) return error;
  place.mapped();
  clRetainEvent(mapped);
  transfer->set_first(mapped);
  start_after<Direction>(mapped, std::move(road), std::move(transfer));
  return CL_SUCCESS;
}

}  // namespace

void BulkWriteCommand::failed(cl_int error) {
  if (progress) {
    progress->end(error);
    transfers->forget_progress(transfer);
  }
  route->drop(transfer);
}

cl_int BulkWriteCommand::issue(Issue& issue) {
  Device& device = issue.queue.device();
  Road road{transfers, route};
  if (!region.is_range()) {
    PackedBytes bytes = allocate_packed(region.size);
    if (bytes == nullptr) return CL_OUT_OF_HOST_MEMORY;
    auto packed = make_ref<PackedWrite>(transfer, issue.queue, issue.event, issue.hold, region, std::move(bytes));
    packed->reports_to(progress);
    return start_in_order<IncomingTransfer>(issue, std::move(road), std::move(packed));
  }
  if (device.maps_in_place()) {
    auto in_place = make_ref<InPlaceWrite>(transfer, issue.queue, issue.event, issue.hold, region.size);
    in_place->reports_to(progress);
    return start_in_place<IncomingTransfer>(issue, std::move(road), region, CL_MAP_WRITE_INVALIDATE_REGION,
                                            std::move(in_place));
  }
  cl_mem memory = nullptr;
  const cl_int error = region.buffer->native(device, memory);
  if (error != CL_SUCCESS) return error;
  auto staged = make_ref<StagedWrite>(transfer, issue.queue, issue.event, issue.hold, region, memory);
  staged->reports_to(progress);
  return start_in_order<IncomingTransfer>(issue, std::move(road), std::move(staged));
}

cl_int BulkReadCommand::issue(Issue& issue) {
  Device& device = issue.queue.device();
  if (!region.is_range()) {
    PackedBytes bytes = allocate_packed(region.size);
    if (bytes == nullptr) return CL_OUT_OF_HOST_MEMORY;
    auto packed = make_ref<PackedRead>(transfer, issue.queue, issue.event, issue.hold, region.size, std::move(bytes));
    cl_event read = nullptr;
    const cl_int error =
        region.read(device, issue.queue.native(), packed->data(), issue.wait_count(), issue.wait_list(), &read);
    if (error != CL_SUCCESS) return error;
    clRetainEvent(read);
    packed->set_first(read);
    start_after<OutgoingTransfer>(read, {transfers, route}, std::move(packed));
    return CL_SUCCESS;
  }
  if (device.maps_in_place()) {
    return start_in_place<OutgoingTransfer>(
        issue, {transfers, route}, region, CL_MAP_READ,
        make_ref<InPlaceRead>(transfer, issue.queue, issue.event, issue.hold, region.size));
  }
  cl_mem memory = nullptr;
  const cl_int error = region.buffer->native(device, memory);
  if (error != CL_SUCCESS) return error;
  return start_in_order<OutgoingTransfer>(
      issue, {transfers, route}, make_ref<StagedRead>(transfer, issue.queue, issue.event, issue.hold, region, memory));
}

}  // namespace remotecl::server
