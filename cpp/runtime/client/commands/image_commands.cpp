// Commands on images, but for mapping.
#include "runtime/client/commands/image_commands.h"

#include "runtime/client/commands/transfer_steps.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

ByteRange all_of(const MemoryObject& image) { return image.range(0, image.size()); }

// The command writes a region: what it leaves alone must be there.
void writes_region(PendingCommand& command, MemoryObject& image, const Extent& region) {
  if (!overwrites_all(image, region)) command.reads(image, all_of(image));
  command.writes(image, all_of(image));
}

cl_int finish_command(PendingCommand& command, Event** event) {
  Ref<Event> own = command.sent();
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

}  // namespace

bool overwrites_all(const MemoryObject& image, const Extent& region) {
  return image.image()->is_whole(region) && image.size() == *image.image()->shape.packed_size();
}

cl_int enqueue_read_image(CommandQueue& queue, MemoryObject& image, bool blocking, const Extent& origin,
                          const Extent& region, const Pitches& pitches, void* to, WaitList wait, Event** event) {
  PendingCommand command(queue, CL_COMMAND_READ_IMAGE, wait, event != nullptr);
  command.reads(image, all_of(image));
  if (command.error() != CL_SUCCESS) return command.error();
  const ImageLayout& layout = *image.image();
  const TransferRef transfer =
      expect_rows(command, blocking, static_cast<std::byte*>(to), layout.at({}, pitches), layout.bytes(region));
  command.send(
      EnqueueReadImage{queue.id(), command.event_id(), image.id(), origin, region, transfer->id, command.wait_list()});
  Ref<Event> own = command.sent(blocking);
  const cl_int result = blocking ? await_read(queue, transfer, own.get()) : CL_SUCCESS;
  if (result == CL_SUCCESS && event != nullptr) *event = own.detach();
  return result;
}

cl_int enqueue_write_image(CommandQueue& queue, MemoryObject& image, bool blocking, const Extent& origin,
                           const Extent& region, const Pitches& pitches, const void* from, WaitList wait,
                           Event** event) {
  PendingCommand command(queue, CL_COMMAND_WRITE_IMAGE, wait, event != nullptr);
  writes_region(command, image, region);
  if (command.error() != CL_SUCCESS) return command.error();
  const ImageLayout& layout = *image.image();
  const PackedRows rows =
      pack_rows(command, static_cast<const std::byte*>(from), layout.at({}, pitches), layout.bytes(region));
  command.moves(rows.size, nullptr, &queue.device());
  EnqueueWriteImage message{queue.id(), command.event_id(), image.id(), origin, region, 0, {}, command.wait_list()};
  TransferRef transfer;
  if (rows.size <= kInlineDataMax && !rows.late) {
    message.data = Bytes(rows.bytes, rows.size);
  } else {
    transfer = offer_rows(command, blocking, rows);
    message.transfer = transfer->id;
  }
  command.send(message);
  Ref<Event> own = command.sent(blocking && transfer);
  const cl_int result = blocking && transfer ? send_bytes(queue, transfer, own.get()) : CL_SUCCESS;
  if (result == CL_SUCCESS && event != nullptr) *event = own.detach();
  return result;
}

cl_int enqueue_copy_image(CommandQueue& queue, MemoryObject& source, MemoryObject& destination,
                          const Extent& source_origin, const Extent& destination_origin, const Extent& region,
                          WaitList wait, Event** event) {
  PendingCommand command(queue, CL_COMMAND_COPY_IMAGE, wait, event != nullptr);
  command.reads(source, all_of(source));
  writes_region(command, destination, region);
  if (command.error() != CL_SUCCESS) return command.error();
  command.send(EnqueueCopyImage{queue.id(), command.event_id(), source.id(), destination.id(), source_origin,
                                destination_origin, region, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_fill_image(CommandQueue& queue, MemoryObject& image, const std::array<std::uint32_t, 4>& color,
                          const Extent& origin, const Extent& region, WaitList wait, Event** event) {
  PendingCommand command(queue, CL_COMMAND_FILL_IMAGE, wait, event != nullptr);
  writes_region(command, image, region);
  if (command.error() != CL_SUCCESS) return command.error();
  command.send(
      EnqueueFillImage{queue.id(), command.event_id(), image.id(), origin, region, color, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_copy_image_to_buffer(CommandQueue& queue, MemoryObject& image, MemoryObject& buffer,
                                    const Extent& origin, const Extent& region, std::uint64_t offset, WaitList wait,
                                    Event** event) {
  PendingCommand command(queue, CL_COMMAND_COPY_IMAGE_TO_BUFFER, wait, event != nullptr);
  command.reads(image, all_of(image));
  command.writes(buffer, buffer.range(offset, image.image()->shape.packed_size(region)));
  if (command.error() != CL_SUCCESS) return command.error();
  command.send(EnqueueCopyImageBuffer{queue.id(), command.event_id(), image.id(), buffer.id(), 1, origin, region,
                                      offset, command.wait_list()});
  return finish_command(command, event);
}

cl_int enqueue_copy_buffer_to_image(CommandQueue& queue, MemoryObject& buffer, MemoryObject& image,
                                    std::uint64_t offset, const Extent& origin, const Extent& region, WaitList wait,
                                    Event** event) {
  PendingCommand command(queue, CL_COMMAND_COPY_BUFFER_TO_IMAGE, wait, event != nullptr);
  command.reads(buffer, buffer.range(offset, image.image()->shape.packed_size(region)));
  writes_region(command, image, region);
  if (command.error() != CL_SUCCESS) return command.error();
  command.send(EnqueueCopyImageBuffer{queue.id(), command.event_id(), image.id(), buffer.id(), 0, origin, region,
                                      offset, command.wait_list()});
  return finish_command(command, event);
}

}  // namespace remotecl
