#include "server/transfer/content_limited_send.h"

#include <algorithm>
#include <cstring>

#include "server/completion/completion_notifier.h"
#include "server/transfer/direct_access.h"

namespace remotecl::server {
namespace {

// Lives until the bytes have been sent or an ordinary bulk read has taken over.
class LimitedSend final : public RefCounted {
 public:
  LimitedSend(const ContentLimitedSend& command, Issue& issue)
      : command_(command),
        strand_(&command.transfers->strand()),
        queue_(&issue.queue),
        event_(issue.event),
        hold_(issue.hold),
        begin_(std::min<std::uint64_t>(command.region.size, kInlineDataMax)),
        bytes_(issue.queue.device().memory().pinned().take(begin_)),
        content_(issue.queue.device().memory().pinned().take(sizeof(std::uint64_t))) {}

  cl_int read(Issue& issue) REQUIRES(session_lock) {
    cl_mem size = nullptr;
    cl_int error = command_.content_size->native(issue.queue.device(), size);
    if (error != CL_SUCCESS) return error;
    Native<cl_event> size_read;
    error = clEnqueueReadBuffer(issue.queue.native(), size, CL_FALSE, 0, sizeof(std::uint64_t), content_.get(),
                                issue.wait_count(), issue.wait_list(), size_read.out());
    if (error != CL_SUCCESS) return error;
    Region begin = command_.region;
    begin.size = begin_;
    const bool ordered = issue.queue.in_order();
    error = begin.read(issue.queue.device(), issue.queue.native(), bytes_.get(), ordered ? 0 : 1,
                       ordered ? nullptr : size_read.list(), native_.out());
    if (error != CL_SUCCESS) {
      // The driver still writes to this object's memory.
      strand_->completions().notify(size_read.get(), [self = Ref<LimitedSend>(this)](cl_int) {});
      return error;
    }
    strand_->completions().notify(native_.get(),
                                  [self = Ref<LimitedSend>(this)](cl_int status) { self->go_on(status); });
    return CL_SUCCESS;
  }

 private:
  void go_on(cl_int status) {
    const std::uint64_t content = command_.meaningful(content_.get());
    const bool is_small = content <= begin_;
    if (status < 0) {
      command_.route->refuse(command_.transfer, status);
    } else if (is_small) {
      command_.route->send(command_.transfer, {bytes_.get(), content});
    } else {
      command_.route->announce(command_.transfer, content);
    }
    strand_->later([self = Ref<LimitedSend>(this), status, is_small, content]() REQUIRES(session_lock) {
      if (status < 0 || is_small) {
        self->end(status);
      } else {
        self->send_bulk(content);
      }
    });
  }

  void end(cl_int status) REQUIRES(session_lock) {
    Issuer& issuer = command_.transfers->issuer();
    if (status < 0) {
      issuer.fail(*queue_, event_.get(), status, command_.transfer);
    } else {
      issuer.accepted(*queue_, event_.get(), std::move(native_));
    }
    issuer.finish_hold(hold_);
  }

  void send_bulk(std::uint64_t content) REQUIRES(session_lock) {
    BulkReadCommand rest{command_.transfers, command_.region, command_.transfer, command_.route};
    rest.region.size = content;
    Issue issue{*queue_, event_.get(), {}, hold_};
    const cl_int error = rest.issue(issue);
    if (error == CL_SUCCESS) {
      if (issue.enqueued) {
        queue_->count_native_command(issue.native);
        command_.transfers->issuer().touch(*queue_);
      }
      return;
    }
    rest.failed(error);
    end(error);
  }

  const ContentLimitedSend command_;
  const Ref<Strand> strand_;
  const Ref<Queue> queue_;
  const Ref<Event> event_;
  const EventId hold_;
  const std::uint64_t begin_;
  const std::shared_ptr<std::byte[]> bytes_;
  const std::shared_ptr<std::byte[]> content_;
  Native<cl_event> native_;
};

}  // namespace

std::uint64_t ContentLimitedSend::meaningful(const std::byte* content) const {
  std::uint64_t size = 0;
  std::memcpy(&size, content, sizeof size);
  return size > region.offset ? std::min(region.size, size - region.offset) : 0;
}

cl_int ContentLimitedSend::issue(Issue& issue) {
  const std::byte* const content = direct_access(issue, {content_size, false, 0, sizeof(std::uint64_t)});
  const std::byte* const bytes = direct_access(issue, region);
  if (content == nullptr || bytes == nullptr) return make_ref<LimitedSend>(*this, issue)->read(issue);
  const std::uint64_t size = meaningful(content);
  if (size <= kInlineDataMax) {
    route->send(transfer, {bytes, size});
    issue.ended_directly();
    return CL_SUCCESS;
  }
  route->announce(transfer, size);
  BulkReadCommand rest{transfers, region, transfer, route};
  rest.region.size = size;
  return rest.issue(issue);
}

}  // namespace remotecl::server
