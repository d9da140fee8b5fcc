#include "server/transfer/bulk_commands.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "server/completion/completion_notifier.h"
#include "server/transfer/direct_access.h"
#include "server/transfer/in_place_transfer.h"
#include "server/transfer/packed_transfer.h"
#include "server/transfer/staged_transfer.h"

namespace remotecl::server {
namespace {

// Begins a transfer later. Keeps the session.
struct TransferStarter {
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

// Starts the transfer when `event` has ended.
template <class Direction>
void start_after(cl_event event, TransferStarter starter, Ref<Direction> transfer) {
  const CompletionNotifier completions = starter.strand->completions();
  completions.notify(event, [starter = std::move(starter), transfer](cl_int status) {
    if (status == CL_COMPLETE) {
      starter.start(transfer);
    } else {
      starter.fail(transfer, status);
    }
  });
}

// Starts the transfer once no native command comes before it.
template <class Direction>
cl_int start_in_order(Issue& issue, TransferStarter starter, Ref<Direction> transfer) REQUIRES(session_lock) {
  if (issue.waits.empty() && (!issue.queue.in_order() || issue.queue.native_idle())) {
    issue.enqueued = false;
    starter.start(std::move(transfer));
    return CL_SUCCESS;
  }
  Native<cl_event> marker;
  const cl_int error = issue.waits.empty() ? issue.queue.mark(marker)
                                           : clEnqueueMarkerWithWaitList(issue.queue.native(), issue.wait_count(),
                                                                         issue.wait_list(), marker.out());
  if (error == CL_SUCCESS) start_after<Direction>(marker.get(), std::move(starter), std::move(transfer));
  return error;
}

// Allocates host memory for packed bytes. May return null, because the client chose the size.
PackedBytes allocate_packed(std::uint64_t size) { return PackedBytes(new (std::nothrow) std::byte[size]); }

// Starts the transfer, whose place is known, when it may use the bytes.
template <class Direction, class Kind>
cl_int start_in_place(Issue& issue, TransferStarter starter, const Region& region, Ref<Kind> transfer)
    REQUIRES(session_lock) {
  if (direct_access(issue, region) != nullptr) {
    issue.enqueued = false;
    starter.start(Ref<Direction>(std::move(transfer)));
    return CL_SUCCESS;
  }
  Native<cl_event> begun;
  const cl_int error =
      transfer->place.take_turn(issue.queue.native(), issue.wait_count(), issue.wait_list(), begun.out());
  if (error != CL_SUCCESS) return error;
  transfer->set_first(begun.copy());
  start_after<Direction>(begun.get(), std::move(starter), std::move(transfer));
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
  TransferStarter starter{transfers, route};
  if (!region.is_range()) {
    PackedBytes bytes = allocate_packed(region.size);
    if (bytes == nullptr) return CL_OUT_OF_HOST_MEMORY;
    auto packed = make_ref<PackedWrite>(transfer, issue.queue, issue.event, issue.hold, region, std::move(bytes));
    packed->reports_to(progress);
    return start_in_order<IncomingTransfer>(issue, std::move(starter), std::move(packed));
  }
  if (InPlace place; place.find(region, device)) {
    auto in_place = make_ref<InPlaceWrite>(transfer, issue.queue, issue.event, issue.hold, region.size);
    in_place->place = std::move(place);
    in_place->reports_to(progress);
    return start_in_place<IncomingTransfer>(issue, std::move(starter), region, std::move(in_place));
  }
  cl_mem memory = nullptr;
  const cl_int error = region.buffer->native(device, memory);
  if (error != CL_SUCCESS) return error;
  auto staged = make_ref<StagedWrite>(transfer, issue.queue, issue.event, issue.hold, region, memory);
  staged->reports_to(progress);
  return start_in_order<IncomingTransfer>(issue, std::move(starter), std::move(staged));
}

cl_int BulkReadCommand::issue(Issue& issue) {
  Device& device = issue.queue.device();
  if (!region.is_range()) {
    PackedBytes bytes = allocate_packed(region.size);
    if (bytes == nullptr) return CL_OUT_OF_HOST_MEMORY;
    auto packed = make_ref<PackedRead>(transfer, issue.queue, issue.event, issue.hold, region.size, std::move(bytes));
    Native<cl_event> read;
    const cl_int error =
        region.read(device, issue.queue.native(), packed->data(), issue.wait_count(), issue.wait_list(), read.out());
    if (error != CL_SUCCESS) return error;
    packed->set_first(read.copy());
    start_after<OutgoingTransfer>(read.get(), {transfers, route}, std::move(packed));
    return CL_SUCCESS;
  }
  if (InPlace place; place.find(region, device)) {
    auto in_place = make_ref<InPlaceRead>(transfer, issue.queue, issue.event, issue.hold, region.size);
    in_place->place = std::move(place);
    return start_in_place<OutgoingTransfer>(issue, {transfers, route}, region, std::move(in_place));
  }
  cl_mem memory = nullptr;
  const cl_int error = region.buffer->native(device, memory);
  if (error != CL_SUCCESS) return error;
  return start_in_order<OutgoingTransfer>(
      issue, {transfers, route}, make_ref<StagedRead>(transfer, issue.queue, issue.event, issue.hold, region, memory));
}

}  // namespace remotecl::server
