#include <algorithm>
#include <memory>

#include "server/memory/rect.h"
#include "server/session/printing_command.h"
#include "server/session/session.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

using Sizes = std::array<std::size_t, 3>;

Sizes sizes_of(const Extent& extent) { return {extent[0], extent[1], extent[2]}; }

constexpr std::uint64_t kRecordedSize = 512;  // of a recorded command, about

struct ReplayCommand {
  static constexpr bool kLong = false;

  Ref<CommandBuffer> commands;
  std::shared_ptr<CommandBuffer::Held> held;  // where it cannot begin at once

  std::uint64_t commands_given() const { return commands->size(); }
  double cost() const { return static_cast<double>(commands->size()); }
  void keep(Session&) { held = std::make_shared<CommandBuffer::Held>(commands); }
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

// Only places before the command's own.
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

}  // namespace

cl_int Session::record(const EnqueueKernel& message, Device& device, RecordedStep& step) {
  const Kernel* kernel = kernels_.find(message.kernel);
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
  if (error == CL_SUCCESS) error = set_arguments(*recorded.kernel, device, message.arguments);
  if (error == CL_SUCCESS) error = recorded.kernel->use_svm(kernel->svm(), device);
  if (error == CL_SUCCESS && !recorded.kernel->fits(device)) error = CL_OUT_OF_RESOURCES;
  if (error != CL_SUCCESS) return error;
  recorded.arguments = snapshot(*recorded.kernel);
  recorded.arguments->svm = kernel->svm();
  // The native kernel has the values.
  recorded.arguments->arguments.clear();
  recorded.kernel->arguments.clear();
  step = std::move(recorded);
  return CL_SUCCESS;
}

cl_int Session::record(const EnqueueCopy& message, Device& device, RecordedStep& step) {
  const Ref<Buffer> source(buffers_.find(message.source)), destination(buffers_.find(message.destination));
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

cl_int Session::record(const EnqueueCopyRect& message, Device& device, RecordedStep& step) {
  const Ref<Buffer> source(buffers_.find(message.source)), destination(buffers_.find(message.destination));
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

cl_int Session::record(const EnqueueFill& message, Device& device, RecordedStep& step) {
  const Ref<Buffer> buffer(buffers_.find(message.buffer));
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

cl_int Session::record(const EnqueueCopyImage& message, Device& device, RecordedStep& step) {
  const Ref<Image> source(images_.find(message.source)), destination(images_.find(message.destination));
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

cl_int Session::record(const EnqueueCopyImageBuffer& message, Device& device, RecordedStep& step) {
  const Ref<Image> image(images_.find(message.image));
  const Ref<Buffer> buffer(buffers_.find(message.buffer));
  if (!image || !buffer) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  const std::uint64_t size = image->shape().packed_size(message.region);
  if (!buffer->contains(message.offset, size)) return CL_INVALID_VALUE;
  Place pixels = Place::of(image, message.origin, device), bytes = Place::of(buffer, message.offset, device);
  if (message.to_buffer == 0) std::swap(pixels, bytes);
  return record_pixels({std::move(pixels), std::move(bytes), nullptr, nullptr, sizes_of(message.region), size}, device,
                       step);
}

cl_int Session::record(const EnqueueFillImage& message, Device& device, RecordedStep& step) {
  const Ref<Image> image(images_.find(message.image));
  if (!image) return CL_INVALID_MEM_OBJECT;
  if (!image->shape().contains(message.origin, message.region)) return CL_INVALID_VALUE;
  // It would take the daemon and everybody's sessions with it.
  if (image->bytes() != nullptr && device.crashes_filling_buffer_images()) return CL_INVALID_OPERATION;
  RecordedFillImage recorded{Ref<Memory>(image.get()), nullptr, sizes_of(message.origin), sizes_of(message.region),
                             message.color};
  const cl_int error = recorded.image->native(device, recorded.memory);
  step = std::move(recorded);
  return error;
}

cl_int Session::record(const EnqueueMarker&, Device&, RecordedStep& step) {
  step = RecordedPoint{};
  return CL_SUCCESS;
}

template <class Message>
cl_int Session::record(const RecordedCommand& command, Device& device, std::vector<RecordedStep>& steps,
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
  return record(message, device, steps.emplace_back());
}

void Session::handle(const CreateCommandBuffer& message) {
  Device& on = device(message.device);
  std::vector<RecordedStep> steps;
  RecordedOrder order;
  HeldMemory held(counters_, HeldMemory::For::kCommand);
  bool fits = held.try_resize(message.commands.size() * kRecordedSize);
  cl_int first_error = fits ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  const auto record_one = [&](const RecordedCommand& command) -> cl_int {
    switch (command.code) {
      case Code::kEnqueueKernel:
        return record<EnqueueKernel>(command, on, steps, order);
      case Code::kEnqueueCopy:
        return record<EnqueueCopy>(command, on, steps, order);
      case Code::kEnqueueCopyRect:
        return record<EnqueueCopyRect>(command, on, steps, order);
      case Code::kEnqueueFill:
        return record<EnqueueFill>(command, on, steps, order);
      case Code::kEnqueueCopyImage:
        return record<EnqueueCopyImage>(command, on, steps, order);
      case Code::kEnqueueCopyImageBuffer:
        return record<EnqueueCopyImageBuffer>(command, on, steps, order);
      case Code::kEnqueueFillImage:
        return record<EnqueueFillImage>(command, on, steps, order);
      case Code::kEnqueueMarker:
        return record<EnqueueMarker>(command, on, steps, order);
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
      error = issuer_.refused(refusal);
    }
    if (first_error == CL_SUCCESS) first_error = error;
  });
  order.finish();
  const bool prints = std::any_of(steps.begin(), steps.end(), [](const RecordedStep& step) {
    const auto* kernel = std::get_if<RecordedKernel>(&step);
    return kernel != nullptr && kernel->prints;
  });
  auto commands = make_ref<CommandBuffer>(on, std::move(steps), std::move(order), prints, first_error, std::move(held));
  if (!command_buffers_.insert(message.command_buffer, std::move(commands))) {
    throw ProtocolError("command buffer id " + std::to_string(message.command_buffer) + " cannot be used or is in use");
  }
}

void Session::handle(const ReleaseCommandBuffer& message) { command_buffers_.take(message.command_buffer); }

void Session::handle(const EnqueueCommandBuffer& message) {
  Queue& on = queue(message.queue);
  Event* event = issuer_.begin_event(message.event, on, false);
  Ref<CommandBuffer> commands(command_buffers_.find(message.command_buffer));
  if (!commands) return issuer_.fail(on, event, CL_INVALID_COMMAND_BUFFER_KHR);
  const bool prints = commands->prints();
  ReplayCommand replay{std::move(commands), nullptr};
  if (prints) {
    issuer_.submit(on, event, message.wait_list, PrintingCommand<ReplayCommand>{this, std::move(replay)});
  } else {
    issuer_.submit(on, event, message.wait_list, std::move(replay));
  }
}

void Session::handle(const QueryCommandBuffer& message) {
  CommandBuffer* commands = command_buffers_.find(message.command_buffer);
  outbox_.add(CommandBufferState{message.token, commands != nullptr && commands->is_pending() ? 1u : 0u});
}

}  // namespace remotecl::server
