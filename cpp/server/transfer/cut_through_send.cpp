#include "server/transfer/cut_through_send.h"

#include <algorithm>

namespace remotecl::server {
namespace {

class CutThroughRead final : public OutgoingTransfer {
 public:
  CutThroughRead(const CutThroughSend& command, Issue& issue, cl_mem memory)
      : OutgoingTransfer(command.transfer, issue.queue, issue.event, issue.hold, command.region.size),
        region_(command.region),
        memory_(memory),
        progress_(command.progress) {}

  bool send(BulkTransport& transport, StagingSet& staging, const Between& between) override {
    for (std::uint64_t sent = 0; sent < size();) {
      const TransferProgress::Step step = progress_->wait(sent);
      if (step.available <= sent) {  // the source has ended too early
        set_error(step.status < 0 ? step.status : CL_OUT_OF_RESOURCES);
        return true;
      }
      const Ref<IncomingTransfer> source = progress_->transfer();
      const std::uint64_t available = std::min(step.available, size());
      if (const std::byte* memory = source->host_memory()) {
        if (!send_chunks(transport, {{memory + sent, available - sent}}, between)) return false;
        sent = available;
        continue;
      }
      const std::uint64_t piece = std::min<std::uint64_t>(available - sent, transport.staging_piece());
      if (!send_piece(transport, staging, between, *source, sent, piece)) return false;
      if (error() != CL_SUCCESS) return true;
      sent += piece;
    }
    return true;
  }

  bool may_pass() const override { return false; }

  cl_int finish(Native<cl_event>&) override { return CL_SUCCESS; }

 private:
  bool send_piece(BulkTransport& transport, StagingSet& staging, const Between& between, IncomingTransfer& source,
                  std::uint64_t offset, std::uint64_t size) {
    Device& device = queue().device();
    cl_int error = CL_SUCCESS;
    StagingRing& ring = staging.ring(device);
    auto& slot = ring.next(error);
    transport.reclaim(slot.borrowed_until);
    Region piece = region_;
    piece.offset += offset;
    piece.size = size;
    const Native<cl_event> written = source.written(offset + size);
    error = piece.read_from(memory_, queue().native(), slot.data, written ? 1 : 0, written ? written.list() : nullptr,
                            slot.busy.out());
    if (error != CL_SUCCESS) {
      slot.busy.detach();
    } else {
      clFlush(queue().native());
      error = clWaitForEvents(1, slot.busy.list());
    }
    if (error != CL_SUCCESS) {
      set_error(error);
      return true;
    }
    if (!send_chunks(transport, ring.memory(slot, size), between)) return false;
    slot.borrowed_until = transport.bytes_sent();
    return true;
  }

  const Region region_;  // keeps memory_
  const cl_mem memory_;
  const Ref<TransferProgress> progress_;
};

}  // namespace

cl_int CutThroughSend::issue(Issue& issue) {
  cl_mem memory = nullptr;
  const cl_int error = region.native(issue.queue.device(), memory);
  if (error != CL_SUCCESS) return error;
  issue.enqueued = false;
  const auto following = make_ref<CutThroughRead>(*this, issue, memory);
  progress->when_begun([route = route, following] { route->offer(following); });
  return CL_SUCCESS;
}

}  // namespace remotecl::server
