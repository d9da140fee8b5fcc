#include <algorithm>
#include <memory>

#include "server/handlers/handlers.h"
#include "server/handlers/kernel_arguments.h"
#include "server/memory/rect.h"
#include "server/session/printf_command.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

using Sizes = std::array<std::size_t, 3>;

Sizes sizes_of(const Extent& extent) { return {extent[0], extent[1], extent[2]}; }

constexpr std::uint64_t kRecordedSize = 512;  // the rough size of a recorded command

struct ReplayCommand {
  static constexpr bool kLong = false;

  Ref<CommandBuffer> commands;
  std::shared_ptr<CommandBuffer::Held> held;  // if the replay cannot begin at once

  std::uint64_t commands_given() const { return commands->size(); }
  double cost() const { return static_cast<double>(commands->size()); }
  void keep() { held = std::make_shared<CommandBuffer::Held>(commands); }
  cl_int issue(Issue& issue) {
    const cl_int error = commands->replay(issue);
    if (held) held->end();
    return error;
  }
};

cl_int record_pixels(RecordedCopyPixels recorded, Device& device, RecordedStep& step) {
  cl_int error = recorded.source.memory->native(device, recorded.from);
  if (error == CL_SUCCESS) error = recorded.destination.memory->native(device, recorded.to);
  step = std::move(recorded);
  return error;
}

// Accepts only indices of earlier commands.
std::vector<std::uint32_t> places_of(const Array<EventId>& wait_list, std::size_t own) {
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < wait_list.size(); ++i) {
    if (wait_list[i] == 0 || wait_list[i] > own) {
      throw ProtocolError("a recorded command waits for one that does not come before it");
    }
    places.push_back(static_cast<std::uint32_t>(wait_list[i] - 1));
  }
  return places;
}

cl_int record(Session& session, const EnqueueKernel& message, Device& device, RecordedStep& step) {
  const Kernel* kernel = session.objects().kernels.find(message.kernel);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  if (message.dimensions < 1 || message.dimensions > 3) return CL_INVALID_WORK_DIMENSION;
  RecordedKernel recorded{nullptr,
                          {},
                          kernel->prints(),
                          message.dimensions,
                          message.has_local != 0,
                          sizes_of(message.offset),
                          sizes_of(message.global),
                          sizes_of(message.local)};
  cl_int error = kernel->make(device, recorded.kernel);
  if (error == CL_SUCCESS) error = set_arguments(session, *recorded.kernel, device, message.arguments);
  if (error == CL_SUCCESS) error = recorded.kernel->use_svm(kernel->svm(), device);
  if (error == CL_SUCCESS && !recorded.kernel->fits(device)) error = CL_OUT_OF_RESOURCES;
  if (error != CL_SUCCESS) return error;
  recorded.arguments = snapshot(session.objects(), *recorded.kernel);
  recorded.arguments->svm = kernel->svm();
  // The native kernel holds the values now.
  recorded.arguments->arguments.clear();
  recorded.kernel->arguments.clear();
  step = std::move(recorded);
  return CL_SUCCESS;
}

cl_int record(Session& session, const EnqueueCopy& message, Device& device, RecordedStep& step) {
  const Ref<Buffer> source(session.objects().buffers.find(message.source)),
      destination(session.objects().buffers.find(message.destination));
  if (!source || !destination) return CL_INVALID_MEM_OBJECT;
  if (!source->contains(message.source_offset, message.size) ||
      !destination->contains(message.destination_offset, message.size)) {
    return CL_INVALID_VALUE;
  }
  RecordedCopy recorded{Ref<Memory>(source.get()), Ref<Memory>(destination.get()), nullptr,     nullptr,
                        message.source_offset,     message.destination_offset,     message.size};
  cl_int error = recorded.source->native(device, recorded.from);
  if (error == CL_SUCCESS) error = recorded.destination->native(device, recorded.to);
  step = std::move(recorded);
  return error;
}

cl_int record(Session& session, const EnqueueCopyRect& message, Device& device, RecordedStep& step) {
  const Ref<Buffer> source(session.objects().buffers.find(message.source)),
      destination(session.objects().buffers.find(message.destination));
  if (!source || !destination) return CL_INVALID_MEM_OBJECT;
  if (!rect_inside(*source, message.source_origin, message.region, message.source_row_pitch,
                   message.source_slice_pitch) ||
      !rect_inside(*destination, message.destination_origin, message.region, message.destination_row_pitch,
                   message.destination_slice_pitch)) {
    return CL_INVALID_VALUE;
  }
  Extent from = message.source_origin, to = message.destination_origin;
  RecordedCopyRect recorded{Ref<Memory>(source->copied(device, from[0]).get()),
                            Ref<Memory>(destination->copied(device, to[0]).get()),
                            nullptr,
                            nullptr,
                            sizes_of(from),
                            sizes_of(to),
                            sizes_of(message.region),
                            message.source_row_pitch,
                            message.source_slice_pitch,
                            message.destination_row_pitch,
                            message.destination_slice_pitch};
  cl_int error = recorded.source->native(device, recorded.from);
  if (error == CL_SUCCESS) error = recorded.destination->native(device, recorded.to);
  step = std::move(recorded);
  return error;
}

cl_int record(Session& session, const EnqueueFill& message, Device& device, RecordedStep& step) {
  const Ref<Buffer> buffer(session.objects().buffers.find(message.buffer));
  if (!buffer) return CL_INVALID_MEM_OBJECT;
  if (!buffer->contains(message.offset, message.size) || message.pattern.empty() ||
      message.pattern.size() > RecordedFill::kPatternSizeMax) {
    return CL_INVALID_VALUE;
  }
  RecordedFill recorded{Ref<Memory>(buffer.get()), nullptr, message.offset, message.size, {}, message.pattern.size()};
  std::copy(message.pattern.begin(), message.pattern.end(), recorded.pattern.begin());
  const cl_int error = recorded.buffer->native(device, recorded.memory);
  step = std::move(recorded);
  return error;
}

cl_int record(Session& session, const EnqueueCopyImage& message, Device& device, RecordedStep& step) {
  const Ref<Image> source(session.objects().images.find(message.source)),
      destination(session.objects().images.find(message.destination));
  if (!source || !destination) return CL_INVALID_MEM_OBJECT;
  if (source->shape().pixel != destination->shape().pixel) return CL_IMAGE_FORMAT_MISMATCH;
  if (!source->shape().contains(message.source_origin, message.region) ||
      !destination->shape().contains(message.destination_origin, message.region)) {
    return CL_INVALID_VALUE;
  }
  return record_pixels(
      {Place::of(source, message.source_origin, device), Place::of(destination, message.destination_origin, device),
       nullptr, nullptr, sizes_of(message.region), source->shape().packed_size(message.region)},
      device, step);
}

cl_int record(Session& session, const EnqueueCopyImageBuffer& message, Device& device, RecordedStep& step) {
  const Ref<Image> image(session.objects().images.find(message.image));
  const Ref<Buffer> buffer(session.objects().buffers.find(message.buffer));
  if (!image || !buffer) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  const std::uint64_t size = image->shape().packed_size(message.region);
  if (!buffer->contains(message.offset, size)) return CL_INVALID_VALUE;
  Place pixels = Place::of(image, message.origin, device), bytes = Place::of(buffer, message.offset, device);
  if (message.to_buffer == 0) std::swap(pixels, bytes);
  return record_pixels({std::move(pixels), std::move(bytes), nullptr, nullptr, sizes_of(message.region), size}, device,
                       step);
}

cl_int record(Session& session, const EnqueueFillImage& message, Device& device, RecordedStep& step) {
  const Ref<Image> image(session.objects().images.find(message.image));
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  // It would end the daemon and all of its sessions.
  if (image->bytes() != nullptr && device.traits().quirks.crashes_filling_buffer_images) return CL_INVALID_OPERATION;
  RecordedFillImage recorded{Ref<Memory>(image.get()), nullptr, sizes_of(message.origin), sizes_of(message.region),
                             message.color};
  const cl_int error = recorded.image->native(device, recorded.memory);
  step = std::move(recorded);
  return error;
}

cl_int record(Session&, const EnqueueMarker&, Device&, RecordedStep& step) {
  step = RecordedPoint{};
  return CL_SUCCESS;
}

template <class Message>
cl_int record(Session& session, const RecordedCommand& command, Device& device, std::vector<RecordedStep>& steps,
              RecordedOrder& order) {
  Message message{};
  Decoder decoder(command.message);
  if (!decoder.read(message) || !decoder.at_end()) {
    throw ProtocolError("a recorded " + std::string(message_name(Message::kCode)) + " is malformed");
  }
  const auto waits = places_of(message.wait_list, steps.size());
  if constexpr (std::is_same_v<Message, EnqueueMarker>) {
    order.add_point(waits, message.waits_for_all != 0, message.is_barrier != 0);
  } else {
    order.add_command(waits);
  }
  return record(session, message, device, steps.emplace_back());
}

}  // namespace

void handle(Session& session, const CreateCommandBuffer& message) {
  Device& on = session.objects().device(message.device);
  std::vector<RecordedStep> steps;
  RecordedOrder order;
  HeldMemory held(session.counters(), HeldMemory::For::kCommand);
  bool fits = held.try_resize(message.commands.size() * kRecordedSize);
  cl_int first_error = fits ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  const auto record_one = [&](const RecordedCommand& command) -> cl_int {
    switch (command.code) {
      case Code::kEnqueueKernel:
        return record<EnqueueKernel>(session, command, on, steps, order);
      case Code::kEnqueueCopy:
        return record<EnqueueCopy>(session, command, on, steps, order);
      case Code::kEnqueueCopyRect:
        return record<EnqueueCopyRect>(session, command, on, steps, order);
      case Code::kEnqueueFill:
        return record<EnqueueFill>(session, command, on, steps, order);
      case Code::kEnqueueCopyImage:
        return record<EnqueueCopyImage>(session, command, on, steps, order);
      case Code::kEnqueueCopyImageBuffer:
        return record<EnqueueCopyImageBuffer>(session, command, on, steps, order);
      case Code::kEnqueueFillImage:
        return record<EnqueueFillImage>(session, command, on, steps, order);
      case Code::kEnqueueMarker:
        return record<EnqueueMarker>(session, command, on, steps, order);
      default:
        throw ProtocolError("message " + std::to_string(command.code) + " cannot be recorded");
    }
  };
  message.commands.for_each([&](const RecordedCommand& command) {
    if (!fits) return;
    cl_int error = CL_SUCCESS;
    try {
      held.resize(held.size() + command.message.size());
      error = record_one(command);
    } catch (const HeldTooMuch& refusal) {
      fits = false;
      error = session.issuer().refused(refusal);
    }
    if (first_error == CL_SUCCESS) first_error = error;
  });
  order.finish();
  const bool prints = std::any_of(steps.begin(), steps.end(), [](const RecordedStep& step) {
    const auto* kernel = std::get_if<RecordedKernel>(&step);
    return kernel != nullptr && kernel->prints;
  });
  auto commands = make_ref<CommandBuffer>(on, std::move(steps), std::move(order), prints, first_error, std::move(held));
  if (!session.objects().command_buffers.insert(message.command_buffer, std::move(commands))) {
    throw ProtocolError("command buffer id " + std::to_string(message.command_buffer) + " cannot be used or is in use");
  }
}

void handle(Session& session, const ReleaseCommandBuffer& message) {
  session.objects().command_buffers.take(message.command_buffer);
}

void handle(Session& session, const EnqueueCommandBuffer& message) {
  Queue& on = session.objects().queue(message.queue);
  Event* event = session.issuer().begin_event(message.event, on, false);
  Ref<CommandBuffer> commands(session.objects().command_buffers.find(message.command_buffer));
  if (!commands) return session.issuer().fail(on, event, CL_INVALID_COMMAND_BUFFER_KHR);
  const bool prints = commands->prints();
  ReplayCommand replay{std::move(commands), nullptr};
  if (prints) {
    session.issuer().submit(on, event, message.wait_list,
                            PrintfCommand<ReplayCommand>{&session.printf_execution(), std::move(replay)});
  } else {
    session.issuer().submit(on, event, message.wait_list, std::move(replay));
  }
}

void handle(Session& session, const QueryCommandBuffer& message) {
  CommandBuffer* commands = session.objects().command_buffers.find(message.command_buffer);
  session.outbox().add(CommandBufferState{message.token, commands != nullptr && commands->is_pending() ? 1u : 0u});
}

}  // namespace remotecl::server
