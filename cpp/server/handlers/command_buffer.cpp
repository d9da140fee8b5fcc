#include <algorithm>
#include <memory>

#include "server/handlers/handlers.h"
#include "server/handlers/kernel_arguments.h"
#include "server/handlers/memory_commands.h"
#include "server/handlers/submit_kernels.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

constexpr std::uint64_t kRecordedSize = 512;  // the rough size of a recorded command

struct ReplayCommand {
  static constexpr bool kLong = false;

  Ref<CommandBuffer> commands;
  std::shared_ptr<CommandBuffer::Held> held;  // if the replay cannot begin at once

  std::uint64_t commands_given() const { return commands->size(); }
  double cost() const { return static_cast<double>(commands->size()); }
  void keep() REQUIRES(session_lock) { held = std::make_shared<CommandBuffer::Held>(commands); }
  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    const cl_int error = commands->replay(issue);
    if (held) held->end();
    return error;
  }
};

// Accepts only indices of earlier commands.
std::vector<std::uint32_t> indices_of(const Array<EventId>& wait_list, std::size_t own) {
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < wait_list.size(); ++i) {
    if (wait_list[i] == 0 || wait_list[i] > own) {
      throw ProtocolError("a recorded command waits for one that does not come before it");
    }
    indices.push_back(static_cast<std::uint32_t>(wait_list[i] - 1));
  }
  return indices;
}

cl_int record(Session& session, const EnqueueKernel& message, Device& device, RecordedKernel& recorded)
    REQUIRES(session_lock) {
  const Kernel* kernel = session.objects().kernels.find(message.kernel);
  if (kernel == nullptr) return CL_INVALID_KERNEL;
  cl_int error = kernel->make(device, recorded.kernel);
  if (error == CL_SUCCESS) error = prepare(session, message, *kernel, *recorded.kernel, device);
  if (error != CL_SUCCESS) return error;
  recorded.prints = kernel->prints();
  recorded.range = range_of(message);
  recorded.arguments = snapshot(session.objects(), *recorded.kernel);
  recorded.arguments->svm = kernel->svm();
  // The native kernel holds the values now.
  recorded.arguments->arguments.clear();
  recorded.kernel->arguments.clear();
  return CL_SUCCESS;
}

cl_int record(Session&, const EnqueueMarker&, Device&, RecordedPoint&) { return CL_SUCCESS; }

template <class Message, class Command>
cl_int record(Session& session, const Message& message, Device& device, Command& command) REQUIRES(session_lock) {
  const cl_int error = describe(session.objects(), message, device, command);
  return error != CL_SUCCESS ? error : command.resolve(device);
}

template <class Message, class Command>
cl_int record(Session& session, const RecordedCommand& command, Device& device, std::vector<RecordedStep>& steps,
              RecordedOrder& order) REQUIRES(session_lock) {
  Message message{};
  Decoder decoder(command.message);
  if (!decoder.read(message) || !decoder.at_end()) {
    throw ProtocolError("a recorded " + std::string(message_name(Message::kCode)) + " is malformed");
  }
  const auto waits = indices_of(message.wait_list, steps.size());
  if constexpr (std::is_same_v<Message, EnqueueMarker>) {
    order.add_point(waits, message.waits_for_all != 0, message.is_barrier != 0);
  } else {
    order.add_command(waits);
  }
  return record(session, message, device, steps.emplace_back().emplace<Command>());
}

}  // namespace

void handle(Session& session, const CreateCommandBuffer& message) {
  Device& on = session.objects().device(message.device);
  std::vector<RecordedStep> steps;
  RecordedOrder order;
  HeldMemory held(session.counters(), HeldMemory::For::kCommand);
  bool fits = held.try_resize(message.commands.size() * kRecordedSize);
  cl_int first_error = fits ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY;
  const auto record_one = [&](const RecordedCommand& command) REQUIRES(session_lock) -> cl_int {
    switch (command.code) {
      case Code::kEnqueueKernel:
        return record<EnqueueKernel, RecordedKernel>(session, command, on, steps, order);
      case Code::kEnqueueCopy:
        return record<EnqueueCopy, CopyBufferCommand>(session, command, on, steps, order);
      case Code::kEnqueueCopyRect:
        return record<EnqueueCopyRect, CopyRectCommand>(session, command, on, steps, order);
      case Code::kEnqueueFill:
        return record<EnqueueFill, FillBufferCommand>(session, command, on, steps, order);
      case Code::kEnqueueCopyImage:
        return record<EnqueueCopyImage, CopyPixelsCommand>(session, command, on, steps, order);
      case Code::kEnqueueCopyImageBuffer:
        return record<EnqueueCopyImageBuffer, CopyPixelsCommand>(session, command, on, steps, order);
      case Code::kEnqueueFillImage:
        return record<EnqueueFillImage, FillImageCommand>(session, command, on, steps, order);
      case Code::kEnqueueMarker:
        return record<EnqueueMarker, RecordedPoint>(session, command, on, steps, order);
      default:
        throw ProtocolError("message " + std::to_string(command.code) + " cannot be recorded");
    }
  };
  message.commands.for_each([&](const RecordedCommand& command) {
    session_lock.assume_held();
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
  ProvidedArguments arguments = provided_for(session.objects(), *commands);
  submit_kernels(session, on, event, message.wait_list, prints, std::move(arguments),
                 ReplayCommand{std::move(commands), nullptr});
}

void handle(Session& session, const QueryCommandBuffer& message) {
  CommandBuffer* commands = session.objects().command_buffers.find(message.command_buffer);
  session.outbox().add(CommandBufferState{message.token, commands != nullptr && commands->is_pending() ? 1u : 0u});
}

}  // namespace remotecl::server
