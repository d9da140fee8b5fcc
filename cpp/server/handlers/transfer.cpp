#include <cstring>
#include <memory>

#include "server/completion/completion_notifier.h"
#include "server/handlers/handlers.h"
#include "server/memory/rect.h"
#include "server/transfer/bulk_commands.h"
#include "server/transfer/content_limited_send.h"
#include "server/transfer/direct_access.h"
#include "server/transfer/held_payload.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

class SmallWriteCommand {
 public:
  static constexpr bool kLong = false;

  SmallWriteCommand(Session& session, Region to, Bytes from)
      : session_(&session), region_(std::move(to)), data_(from) {}

  void keep() {
    kept_ = std::make_shared<HeldPayload>(session_->counters(), data_);
    data_ = kept_->bytes();
  }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    if (std::byte* const to = direct_access(issue, region_)) {
      std::memcpy(to, data_.data(), data_.size());
      issue.ended_directly();
      return CL_SUCCESS;
    }
    if (issue.queue.marks_slowly()) return issue_with_copy(issue);
    const std::byte* from = issue.queue.stage(data_);
    return region_.write(issue.queue.device(), issue.queue.native(), from, issue.wait_count(), issue.wait_list(),
                         issue.out());
  }

 private:
  Session* session_;
  Region region_;
  Bytes data_;
  std::shared_ptr<HeldPayload> kept_;

  // Copies the bytes, because on this queue a marker that frees many staged copies costs more than a callback
  // for each.
  cl_int issue_with_copy(Issue& issue) REQUIRES(session_lock) {
    auto copy = std::make_shared<std::vector<std::byte>>(data_.begin(), data_.end());
    const cl_int error = region_.write(issue.queue.device(), issue.queue.native(), copy->data(), issue.wait_count(),
                                       issue.wait_list(), issue.native.out());
    if (error != CL_SUCCESS) return error;
    issue.queue.uncounted += data_.size();
    session_->completions().notify_apart(issue.native.get(), [copy](cl_int) {});
    return CL_SUCCESS;
  }
};

struct SmallReadCommand {
  static constexpr bool kLong = false;

  Session* session;
  Region region;
  TransferId transfer;
  Outbox::Reservation reservation;

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    if (const std::byte* const from = direct_access(issue, region)) {
      session->outbox().add(ReadData{transfer, {from, region.size}});
      issue.ended_directly();
      return CL_SUCCESS;
    }
    const std::shared_ptr<std::byte[]> bytes = issue.queue.device().memory().pinned().take(region.size);
    const cl_int error = region.read(issue.queue.device(), issue.queue.native(), bytes.get(), issue.wait_count(),
                                     issue.wait_list(), issue.native.out());
    if (error != CL_SUCCESS) return error;
    const cl_event read = issue.native.get();
    if (issue.event != nullptr) issue.event->reported = true;
    // On a queue in order, everything before the read has ended with it.
    const std::uint64_t count = issue.queue.in_order() ? issue.queue.native_commands() + 1 : 0;
    session->completions().notify(
        read, [session = Ref<Session>(session), event = Ref<Event>(issue.event), progress = issue.queue.progress(),
               count, bytes, size = region.size, id = transfer, queue = issue.queue.id(), read,
               reservation = reservation](cl_int status) {
          progress->ended(count);
          if (status != CL_COMPLETE) session->outbox().add(CommandFailed{queue, event ? event->id : 0, status, id});
          // First the end: a client that has the bytes ties no later command to the read any more.
          if (event) session->reporter().end(*event, status, read, read);
          if (status == CL_COMPLETE) session->outbox().add(ReadData{id, {bytes.get(), size}});
          session->outbox().flush();
        });
    return CL_SUCCESS;
  }
};

template <class Message>
Region rect_of(Ref<Buffer> buffer, const Message& message, std::uint64_t size) {
  Region region{std::move(buffer)};
  region.is_rect = true;
  region.size = size;
  for (int i = 0; i < 3; ++i) {
    region.origin[i] = message.origin[i];
    region.extent[i] = message.region[i];
  }
  region.row_pitch = message.row_pitch;
  region.slice_pitch = message.slice_pitch;
  return region;
}

template <class Message>
cl_int make_region(Ref<Buffer> buffer, const Message& message, Region& region) {
  if (!buffer) return CL_INVALID_MEM_OBJECT;
  if (message.size == 0 || !buffer->contains(message.offset, message.size)) return CL_INVALID_VALUE;
  region = {std::move(buffer), false, message.offset, message.size};
  return CL_SUCCESS;
}

template <class Message>
cl_int make_rect(Ref<Buffer> buffer, const Message& message, Region& region) {
  if (!buffer) return CL_INVALID_MEM_OBJECT;
  const auto size = packed_size(message.region);
  if (!size || !rect_inside(*buffer, message.origin, message.region, message.row_pitch, message.slice_pitch)) {
    return CL_INVALID_VALUE;
  }
  region = rect_of(std::move(buffer), message, *size);
  return CL_SUCCESS;
}

template <class Message>
cl_int make_pixels(Ref<Image> image, const Message& message, Region& region) {
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  region = {};
  region.size = image->shape().packed_size(message.region);
  for (int i = 0; i < 3; ++i) {
    region.origin[i] = message.origin[i];
    region.extent[i] = message.region[i];
  }
  region.image = std::move(image);
  return CL_SUCCESS;
}

cl_int region_of(Ref<Buffer> buffer, const EnqueueRead& message, Region& region) {
  return make_region(std::move(buffer), message, region);
}
cl_int region_of(Ref<Buffer> buffer, const EnqueueWrite& message, Region& region) {
  return make_region(std::move(buffer), message, region);
}
cl_int region_of(Ref<Buffer> buffer, const EnqueueReadRect& message, Region& region) {
  return make_rect(std::move(buffer), message, region);
}
cl_int region_of(Ref<Buffer> buffer, const EnqueueWriteRect& message, Region& region) {
  return make_rect(std::move(buffer), message, region);
}

cl_int region_of(Ref<Image> image, const EnqueueReadImage& message, Region& region) {
  return make_pixels(std::move(image), message, region);
}
cl_int region_of(Ref<Image> image, const EnqueueWriteImage& message, Region& region) {
  return make_pixels(std::move(image), message, region);
}

template <class Object, class Message>
void submit_read(Session& session, Queue& queue, Event* event, Ref<Object> object, const Message& message)
    REQUIRES(session_lock) {
  Issuer& issuer = session.issuer();
  Region region;
  const cl_int error = region_of(std::move(object), message, region);
  if (error != CL_SUCCESS) return issuer.fail(queue, event, error, message.transfer);
  if (region.size <= kInlineDataMax && !session.outbox().is_crowded()) {
    Outbox::Reservation reservation = session.outbox().reserve(region.size);
    issuer.submit(queue, event, message.wait_list,
                  SmallReadCommand{&session, std::move(region), message.transfer, std::move(reservation)});
  } else {
    issuer.submit(queue, event, message.wait_list,
                  BulkReadCommand{&session.transfers(), std::move(region), message.transfer,
                                  Ref<BulkRoute>(&session.channels().of(queue))});
  }
}

template <class Object, class Message>
void submit_write(Session& session, Queue& queue, Event* event, Ref<Object> object, const Message& message)
    REQUIRES(session_lock) {
  Issuer& issuer = session.issuer();
  Region region;
  const cl_int error = region_of(std::move(object), message, region);
  if (error != CL_SUCCESS) {
    session.channels().of(queue).receiver().drop_push(message.transfer);
    return issuer.fail(queue, event, error, message.transfer);
  }
  if (message.transfer != 0) {
    issuer.submit(queue, event, message.wait_list,
                  BulkWriteCommand{&session.transfers(), std::move(region), message.transfer,
                                   Ref<BulkRoute>(&session.channels().of(queue)),
                                   session.transfers().begin_progress(message.transfer)});
    return;
  }
  if (message.data.size() != region.size || message.data.size() > kInlineDataMax) {
    throw ProtocolError("a write of " + std::to_string(region.size) + " bytes carries " +
                        std::to_string(message.data.size()));
  }
  issuer.submit(queue, event, message.wait_list, SmallWriteCommand(session, std::move(region), message.data));
}

}  // namespace

void handle(Session& session, const EnqueueRead& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, true);
  Ref<Buffer> buffer(session.objects().buffers.find(message.buffer));
  if (message.content_size == 0) return submit_read(session, on, event, std::move(buffer), message);
  Ref<Buffer> content_size(session.objects().buffers.find(message.content_size));
  Region region;
  cl_int error = make_region(std::move(buffer), message, region);
  if (!content_size || !content_size->contains(0, sizeof(std::uint64_t))) error = CL_INVALID_MEM_OBJECT;
  if (error != CL_SUCCESS) return session.issuer().fail(on, event, error, message.transfer);
  session.issuer().submit(on, event, message.wait_list,
                          ContentLimitedSend{&session.transfers(), std::move(region), std::move(content_size),
                                             message.transfer, Ref<BulkRoute>(&session.channels().of(on))});
}

void handle(Session& session, const EnqueueReadRect& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, true);
  submit_read(session, on, event, Ref<Buffer>(session.objects().buffers.find(message.buffer)), message);
}

void handle(Session& session, const EnqueueWrite& message) {
  Queue& on = session.objects().queue(message.queue);
  if (message.is_pushed != 0) session.channels().of(on).receiver().announce_push(message.transfer, message.size);
  Event* event = session.issuer().begin_event(message.event, on, message.transfer != 0);
  submit_write(session, on, event, Ref<Buffer>(session.objects().buffers.find(message.buffer)), message);
}

void handle(Session& session, const EnqueueWriteRect& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, message.transfer != 0);
  submit_write(session, on, event, Ref<Buffer>(session.objects().buffers.find(message.buffer)), message);
}

void handle(Session& session, const EnqueueReadImage& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, true);
  submit_read(session, on, event, Ref<Image>(session.objects().images.find(message.image)), message);
}

void handle(Session& session, const EnqueueWriteImage& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, message.transfer != 0);
  submit_write(session, on, event, Ref<Image>(session.objects().images.find(message.image)), message);
}

}  // namespace remotecl::server
