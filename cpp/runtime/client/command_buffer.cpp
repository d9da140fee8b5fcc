#include "runtime/client/command_buffer.h"

#include <algorithm>
#include <memory>

#include "runtime/client/commands_image.h"
#include "runtime/client/pending_command.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

// The recording travels in one message.
constexpr std::size_t kRecordingSizeMax = kMessageSizeMax - (1u << 20);
constexpr std::size_t kRecordSizeExtra = 16;  // around each command

}  // namespace

CommandBuffer::CommandBuffer(Ref<CommandQueue> queue, cl_command_buffer_flags_khr flags,
                             std::vector<cl_command_buffer_properties_khr> properties)
    : queue_(std::move(queue)),
      simultaneous_((flags & CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR) != 0),
      properties_(std::move(properties)) {}

CommandBuffer::~CommandBuffer() {
  if (recording_ended_) queue_->session().send(ReleaseCommandBuffer{id_});
}

cl_int CommandBuffer::check(SyncPoints wait) const {
  if (recording_ended_) return CL_INVALID_OPERATION;
  for (const cl_sync_point_khr point : wait) {
    if (point == 0 || point > records_.size()) return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
  }
  return CL_SUCCESS;
}

template <class Message>
cl_int CommandBuffer::append(Message message, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::vector<EventId> places(wait.begin(), wait.end());
  message.event = records_.size() + 1;
  message.wait_list = std::span<const EventId>(places);
  const std::size_t size = wire::encoded_size(message);
  const std::size_t so_far = recording_.size() + kRecordSizeExtra * records_.size();
  if (size > kRecordingSizeMax - so_far) return CL_OUT_OF_RESOURCES;
  records_.push_back({Message::kCode, recording_.size(), size});
  std::byte* at = recording_.extend(size);
  wire::encode(at, message);
  if (sync_point != nullptr) *sync_point = static_cast<cl_sync_point_khr>(records_.size());
  return CL_SUCCESS;
}

CommandBuffer::Access& CommandBuffer::access(MemoryObject& buffer) {
  buffers_.try_emplace(&buffer, Ref<MemoryObject>(&buffer));
  Access& access = accesses_[&buffer.root()];
  if (!access.root) access.root = Ref<MemoryObject>(&buffer.root());
  return access;
}

void CommandBuffer::reads(MemoryObject& buffer, ByteRange range) {
  Access& to = access(buffer);
  to.writes.for_each_missing(range, [&to](ByteRange part) { to.reads.add(part); });
}

void CommandBuffer::writes(MemoryObject& buffer, ByteRange range) { access(buffer).writes.add(range); }

void CommandBuffer::writes_region(MemoryObject& image, const Extent& region) {
  const ByteRange all = image.range(0, image.size());
  if (!overwrites_all(image, region)) reads(image, all);
  writes(image, all);
}

cl_int CommandBuffer::record_kernel(Kernel& kernel, const NDRange& range, SyncPoints wait,
                                    cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const std::lock_guard kernel_lock(kernel.mutex());
  const auto& arguments = kernel.arguments();
  std::vector<KernelArgument> all;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    all.push_back(encode_argument(static_cast<std::uint32_t>(i), arguments[i]));
  }
  const cl_int error = append(EnqueueKernel{0,
                                            0,
                                            kernel.id(),
                                            range.dimensions,
                                            range.has_local ? 1u : 0u,
                                            range.offset,
                                            range.global,
                                            range.local,
                                            std::span<const KernelArgument>(all),
                                            {}},
                              wait, sync_point);
  if (error != CL_SUCCESS) return error;
  kernels_.try_emplace(&kernel, Ref<Kernel>(&kernel));
  // All reads before all writes: a kernel may read through one argument what it writes through another.
  const auto& shared = kernel.svm_memory();
  for (const Kernel::Argument& argument : arguments) {
    if (MemoryObject* memory = argument.memory.get()) reads(*memory, memory->range(0, memory->size()));
    if (Sampler* sampler = argument.sampler.get()) samplers_.try_emplace(sampler, argument.sampler);
  }
  for (const Ref<MemoryObject>& memory : shared) reads(*memory, memory->range(0, memory->size()));
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    MemoryObject* memory = arguments[i].memory.get();
    if (memory != nullptr && kernel.may_write(i)) writes(*memory, memory->range(0, memory->size()));
  }
  for (const Ref<MemoryObject>& memory : shared) {
    if ((memory->flags() & CL_MEM_READ_ONLY) == 0) writes(*memory, memory->range(0, memory->size()));
  }
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy(MemoryObject& source, MemoryObject& destination, std::uint64_t source_offset,
                                  std::uint64_t destination_offset, std::uint64_t size, SyncPoints wait,
                                  cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const cl_int error = append(
      EnqueueCopy{0, 0, source.id(), destination.id(), source_offset, destination_offset, size, {}}, wait, sync_point);
  if (error != CL_SUCCESS) return error;
  reads(source, source.range(source_offset, size));
  writes(destination, destination.range(destination_offset, size));
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy_rect(MemoryObject& source, MemoryObject& destination,
                                       const Rectangle& source_rectangle, const Rectangle& destination_rectangle,
                                       const Extent& region, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const cl_int error = append(EnqueueCopyRect{0,
                                              0,
                                              source.id(),
                                              destination.id(),
                                              source_rectangle.origin,
                                              destination_rectangle.origin,
                                              region,
                                              source_rectangle.row_pitch,
                                              source_rectangle.slice_pitch,
                                              destination_rectangle.row_pitch,
                                              destination_rectangle.slice_pitch,
                                              {}},
                              wait, sync_point);
  if (error != CL_SUCCESS) return error;
  const ByteRange written = destination.range(destination_rectangle.begin(), destination_rectangle.extent(region));
  reads(source, source.range(source_rectangle.begin(), source_rectangle.extent(region)));
  reads(destination, written);  // the gaps keep what they hold
  writes(destination, written);
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_fill(MemoryObject& buffer, Bytes pattern, std::uint64_t offset, std::uint64_t size,
                                  SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const cl_int error = append(EnqueueFill{0, 0, buffer.id(), offset, size, pattern, {}}, wait, sync_point);
  if (error != CL_SUCCESS) return error;
  writes(buffer, buffer.range(offset, size));
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy_image(MemoryObject& source, MemoryObject& destination, const Extent& source_origin,
                                        const Extent& destination_origin, const Extent& region, SyncPoints wait,
                                        cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const cl_int error =
      append(EnqueueCopyImage{0, 0, source.id(), destination.id(), source_origin, destination_origin, region, {}}, wait,
             sync_point);
  if (error != CL_SUCCESS) return error;
  reads(source, source.range(0, source.size()));
  writes_region(destination, region);
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_fill_image(MemoryObject& image, const std::array<std::uint32_t, 4>& color,
                                        const Extent& origin, const Extent& region, SyncPoints wait,
                                        cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const cl_int error = append(EnqueueFillImage{0, 0, image.id(), origin, region, color, {}}, wait, sync_point);
  if (error != CL_SUCCESS) return error;
  writes_region(image, region);
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_copy_pixels(MemoryObject& image, MemoryObject& buffer, bool to_buffer,
                                         const Extent& origin, const Extent& region, std::uint64_t offset,
                                         SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const cl_int error =
      append(EnqueueCopyImageBuffer{0, 0, image.id(), buffer.id(), to_buffer ? 1u : 0u, origin, region, offset, {}},
             wait, sync_point);
  if (error != CL_SUCCESS) return error;
  const ByteRange packed = buffer.range(offset, image.image()->shape.packed_size(region));
  if (to_buffer) {
    reads(image, image.range(0, image.size()));
    writes(buffer, packed);
  } else {
    reads(buffer, packed);
    writes_region(image, region);
  }
  return CL_SUCCESS;
}

cl_int CommandBuffer::record_point(bool is_barrier, SyncPoints wait, cl_sync_point_khr* sync_point) {
  const std::lock_guard lock(mutex_);
  if (const cl_int error = check(wait); error != CL_SUCCESS) return error;
  const bool waits_for_all = is_barrier && wait.empty();
  return append(EnqueueMarker{0, 0, is_barrier ? 1u : 0u, waits_for_all ? 1u : 0u, {}}, wait, sync_point);
}

bool CommandBuffer::is_recording() {
  const std::lock_guard lock(mutex_);
  return !recording_ended_;
}

cl_int CommandBuffer::end_recording() {
  const std::lock_guard lock(mutex_);
  if (recording_ended_) return CL_INVALID_OPERATION;
  std::vector<RecordedCommand> commands;
  for (const Record& record : records_) {
    commands.push_back({record.code, recording_.bytes().subspan(record.offset, record.size)});
  }
  {
    Session& session = queue_->session();
    const std::lock_guard memory_lock(queue_->context().memory_mutex());
    for (const auto& [buffer, reference] : buffers_) buffer->create_on(session);
    for (const auto& [kernel, reference] : kernels_) {
      const std::lock_guard kernel_lock(kernel->mutex());
      kernel->program().create_on(session);
      kernel->create_on(session);
      kernel->send_svm_pointers(session);
    }
    for (const auto& [sampler, reference] : samplers_) sampler->create_on(session);
    session.send(CreateCommandBuffer{id_, queue_->device().index(), std::span<const RecordedCommand>(commands)});
  }
  recording_ended_ = true;
  recording_ = ByteBuffer();
  records_ = {};
  return CL_SUCCESS;
}

void CommandBuffer::bring_and_mark(PendingCommand& command) {
  for (auto& [root, access] : accesses_) {
    for (const ByteRange& range : access.reads.ranges()) command.reads(*root, range);
    for (const ByteRange& range : access.writes.ranges()) command.writes(*root, range);
  }
}

cl_int CommandBuffer::enqueue(CommandQueue& queue, WaitList wait, Event** event) {
  const std::lock_guard lock(mutex_);
  if (!recording_ended_) return CL_INVALID_OPERATION;
  if (!simultaneous_ && is_pending()) return CL_INVALID_OPERATION;
  PendingCommand command(queue, CL_COMMAND_COMMAND_BUFFER_KHR, wait, event != nullptr);
  bring_and_mark(command);
  if (command.error() != CL_SUCCESS) return command.error();
  const std::uint64_t sequence = command.event() != nullptr ? command.event()->sequence() : queue.next_sequence();
  command.session().send(EnqueueCommandBuffer{queue.id(), command.event_id(), id_, command.wait_list()});
  Ref<Event> own = command.sent();
  remember(queue, sequence, own);
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

void CommandBuffer::remember(CommandQueue& queue, std::uint64_t sequence, Ref<Event> event) {
  const bool covers_last = newest_.queue.get() == &queue && queue.in_order();
  if (simultaneous_ && newest_.queue && !covers_last) others_may_be_pending_ = true;
  newest_ = {Ref<CommandQueue>(&queue), sequence, std::move(event)};
}

bool CommandBuffer::is_pending() {
  if (!newest_.queue) return false;
  const bool newest_ended = (newest_.event && newest_.event->ended()) ||
                            newest_.queue->ended_sequence() >= newest_.sequence || newest_.queue->session().lost();
  if (newest_ended && !others_may_be_pending_) return false;
  if (ask_pending()) return true;
  newest_ = {};
  others_may_be_pending_ = false;
  return false;
}

bool CommandBuffer::ask_pending() {
  Session& session = queue_->session();
  struct Answer {
    std::atomic<bool> there{false};
    bool is_pending = false;
  };
  const auto answer = std::make_shared<Answer>();
  const Token token = session.expect_reply([answer](std::uint16_t, const Bytes* payload) {
    CommandBufferState state{};
    if (payload != nullptr) answer->is_pending = Decoder(*payload).read(state) && state.is_pending != 0;
    answer->there.store(true);
  });
  session.send(QueryCommandBuffer{id_, token});
  session.wait([&] { return answer->there.load(); });
  return answer->there.load() && answer->is_pending;
}

cl_command_buffer_state_khr CommandBuffer::state() {
  const std::lock_guard lock(mutex_);
  if (!recording_ended_) return CL_COMMAND_BUFFER_STATE_RECORDING_KHR;
  return is_pending() ? CL_COMMAND_BUFFER_STATE_PENDING_KHR : CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
}

}  // namespace remotecl
