#include <algorithm>
#include <array>

#include "server/handlers/handlers.h"
#include "server/handlers/svm.h"
#include "server/memory/rect.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

using Sizes = std::array<std::size_t, 3>;

struct CopyCommand {
  static constexpr bool kLong = false;

  Ref<Buffer> source, destination;
  std::uint64_t source_offset, destination_offset, size;

  double cost() const { return DeviceTurn::cost_of_bytes(size); }
  cl_int issue(Issue& issue) {
    cl_mem from = nullptr, to = nullptr;
    cl_int error = source->native(issue.queue.device(), from);
    if (error == CL_SUCCESS) error = destination->native(issue.queue.device(), to);
    if (error != CL_SUCCESS) return error;
    return clEnqueueCopyBuffer(issue.queue.native(), from, to, source_offset, destination_offset, size,
                               issue.wait_count(), issue.wait_list(), issue.out());
  }
};

struct CopyRectCommand {
  static constexpr bool kLong = false;

  Ref<Buffer> source, destination;
  Sizes source_origin, destination_origin, region;
  std::uint64_t source_row_pitch, source_slice_pitch, destination_row_pitch, destination_slice_pitch;

  cl_int issue(Issue& issue) {
    cl_mem from = nullptr, to = nullptr;
    cl_int error = source->native(issue.queue.device(), from);
    if (error == CL_SUCCESS) error = destination->native(issue.queue.device(), to);
    if (error != CL_SUCCESS) return error;
    return clEnqueueCopyBufferRect(issue.queue.native(), from, to, source_origin.data(), destination_origin.data(),
                                   region.data(), source_row_pitch, source_slice_pitch, destination_row_pitch,
                                   destination_slice_pitch, issue.wait_count(), issue.wait_list(), issue.out());
  }
};

struct FillCommand {
  static constexpr bool kLong = false;
  static constexpr std::size_t kPatternSizeMax = 128;

  Ref<Buffer> buffer;
  std::uint64_t offset, size;
  std::array<std::byte, kPatternSizeMax> pattern;
  std::size_t pattern_size;

  double cost() const { return DeviceTurn::cost_of_bytes(size); }
  cl_int issue(Issue& issue) {
    cl_mem memory = nullptr;
    const cl_int error = buffer->native(issue.queue.device(), memory);
    if (error != CL_SUCCESS) return error;
    return clEnqueueFillBuffer(issue.queue.native(), memory, pattern.data(), pattern_size, offset, size,
                               issue.wait_count(), issue.wait_list(), issue.out());
  }
};

Sizes sizes_of(const Extent& extent) { return {extent[0], extent[1], extent[2]}; }

std::string in_use(ObjectId id) { return "buffer id " + std::to_string(id) + " cannot be used or is in use"; }

}  // namespace

void handle(Session& session, const CreateBuffer& message) {
  if (!session.objects().buffers.insert(message.buffer,
                                        make_ref<Buffer>(message.flags, message.size, session.counters()))) {
    throw ProtocolError(in_use(message.buffer));
  }
}

void handle(Session& session, const CreateSubBuffer& message) {
  Ref<Buffer> parent(session.objects().buffers.find(message.parent));
  // If the range is outside of the parent, no buffer is created; commands that name it will fail.
  if (!parent || !parent->contains(message.offset, message.size)) return;
  auto buffer = make_ref<Buffer>(parent, message.flags, message.offset, message.size);
  if (!session.objects().buffers.insert(message.buffer, std::move(buffer))) throw ProtocolError(in_use(message.buffer));
}

void handle(Session& session, const ReleaseBuffer& message) {
  Ref<Buffer> buffer = session.objects().buffers.take(message.buffer);
  if (buffer && buffer->svm() != nullptr) release_svm(session, buffer);
  ++session.objects().released_arguments;
}

void handle(Session& session, const EnqueueCopy& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<Buffer> source(session.objects().buffers.find(message.source)),
      destination(session.objects().buffers.find(message.destination));
  if (!source || !destination) return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT);
  if (!source->contains(message.source_offset, message.size) ||
      !destination->contains(message.destination_offset, message.size)) {
    return session.issuer().fail(on, event, CL_INVALID_VALUE);
  }
  session.issuer().submit(on, event, message.wait_list,
                          CopyCommand{std::move(source), std::move(destination), message.source_offset,
                                      message.destination_offset, message.size});
}

void handle(Session& session, const EnqueueCopyRect& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<Buffer> source(session.objects().buffers.find(message.source)),
      destination(session.objects().buffers.find(message.destination));
  if (!source || !destination) return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT);
  if (!rect_inside(*source, message.source_origin, message.region, message.source_row_pitch,
                   message.source_slice_pitch) ||
      !rect_inside(*destination, message.destination_origin, message.region, message.destination_row_pitch,
                   message.destination_slice_pitch)) {
    return session.issuer().fail(on, event, CL_INVALID_VALUE);
  }
  Extent from = message.source_origin, to = message.destination_origin;
  source = source->copied(on.device(), from[0]);
  destination = destination->copied(on.device(), to[0]);
  session.issuer().submit(
      on, event, message.wait_list,
      CopyRectCommand{std::move(source), std::move(destination), sizes_of(from), sizes_of(to), sizes_of(message.region),
                      message.source_row_pitch, message.source_slice_pitch, message.destination_row_pitch,
                      message.destination_slice_pitch});
}

void handle(Session& session, const EnqueueFill& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<Buffer> buffer(session.objects().buffers.find(message.buffer));
  if (!buffer) return session.issuer().fail(on, event, CL_INVALID_MEM_OBJECT);
  if (!buffer->contains(message.offset, message.size) || message.pattern.empty() ||
      message.pattern.size() > FillCommand::kPatternSizeMax) {
    return session.issuer().fail(on, event, CL_INVALID_VALUE);
  }
  FillCommand command{std::move(buffer), message.offset, message.size, {}, message.pattern.size()};
  std::copy(message.pattern.begin(), message.pattern.end(), command.pattern.begin());
  session.issuer().submit(on, event, message.wait_list, std::move(command));
}

}  // namespace remotecl::server
