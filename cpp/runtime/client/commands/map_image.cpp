// Mapping of images: what the application sees is the application's own memory (CL_MEM_USE_HOST_PTR), a buffer's host
// copy, or the host's copy of the packed pixels.
#include "runtime/client/commands/coherent_host_memory.h"
#include "runtime/client/commands/image_commands.h"
#include "runtime/client/commands/transfer_steps.h"
#include "runtime/protocol/frames.h"

namespace remotecl {
namespace {

constexpr cl_map_flags kWrites = CL_MAP_WRITE | CL_MAP_WRITE_INVALIDATE_REGION;

ByteRange all_of(const MemoryObject& image) { return image.range(0, image.size()); }

// Of the region's pixels.
CoherentHostMemory::Ranges rows_of(const MemoryObject& image, const Extent& origin, const Extent& region) {
  const ImageLayout& layout = *image.image();
  const Rectangle rectangle = layout.at(origin, layout.pitches);
  const Extent rows = layout.bytes(region);
  RangeSet bytes;
  for (std::uint64_t z = 0; z < rows[2]; ++z) {
    for (std::uint64_t y = 0; y < rows[1]; ++y) {
      bytes.add(image.range(rectangle.begin() + z * rectangle.slice_pitch + y * rectangle.row_pitch, rows[0]));
    }
  }
  return bytes.ranges();
}

void send_marker(PendingCommand& command) {
  const std::uint32_t for_all = command.queue().in_order() ? 1 : 0;
  command.send(EnqueueMarker{command.queue().id(), command.event_id(), 0, for_all, command.wait_list()});
}

// Whether all bytes of the image's storage are pixels of the region.
bool covers_all(const MemoryObject& image, const Extent& region) {
  return image.image()->is_whole(region) && image.size() == *image.image()->shape.packed_size();
}

}  // namespace

cl_int enqueue_map_image(CommandQueue& queue, MemoryObject& image, bool blocking, cl_map_flags flags,
                         const Extent& origin, const Extent& region, WaitList wait, Event** event, Pitches& pitches,
                         void** mapped) {
  PendingCommand command(queue, CL_COMMAND_MAP_IMAGE, wait, true);
  if (command.error() != CL_SUCCESS) return command.error();
  BufferStorage& storage = image.storage();
  const ImageLayout& layout = *image.image();
  const ByteRange all = all_of(image);
  if (storage.coherent) storage.coherent->mapped(image, rows_of(image, origin, region));
  const bool fetch = (flags & CL_MAP_WRITE_INVALIDATE_REGION) == 0 && !storage.residency.valid(all, kHost);
  if (fetch) command.reads(image, all);
  if (command.error() != CL_SUCCESS) {
    if (storage.coherent) storage.coherent->unmapped(rows_of(image, origin, region));
    return command.error();
  }
  command.waits_for_host_readers(storage);
  std::byte* const memory = image.image_memory();
  const Rectangle rectangle = layout.at(origin, layout.pitches);
  std::byte* const pointer = memory + rectangle.begin();
  image.add_mapping({0, 0, flags, pointer, origin, region});
  if (fetch) {
    const TransferRef transfer =
        expect_rows(command, false, memory, rectangle, layout.bytes(region), image.shared_storage());
    command.send(EnqueueReadImage{queue.id(), command.event_id(), image.id(), origin, region, transfer->id,
                                  command.wait_list()});
  } else {
    command.touches_host(pointer, layout.at({}, layout.pitches).extent(layout.bytes(region)));
    send_marker(command);
  }
  const std::uint64_t writes = storage.writes;
  Ref<Event> own = command.sent(blocking);
  if (blocking && own->wait_in_call(event)) {
    const cl_int status = own->status();
    const MutexLock lock(queue.context().memory_mutex());
    if (status < 0) {
      MemoryObject::Mapping removed;
      image.remove_mapping(pointer, removed);
      if (storage.coherent) storage.coherent->unmapped(rows_of(image, origin, region));
      return status;
    }
    // Nothing has written meanwhile: the host holds the newest pixels too, until something does.
    if (fetch && storage.writes == writes && image.maps_host_copy() && covers_all(image, region)) {
      storage.residency.add_holder(all, kHost);
    }
  }
  *mapped = pointer;
  pitches = layout.pitches;
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

cl_int enqueue_unmap_image(CommandQueue& queue, MemoryObject& image, void* mapped, WaitList wait, Event** event) {
  PendingCommand command(queue, CL_COMMAND_UNMAP_MEM_OBJECT, wait, true);
  if (command.error() != CL_SUCCESS) return command.error();
  MemoryObject::Mapping mapping;
  if (!image.remove_mapping(mapped, mapping)) return CL_INVALID_VALUE;
  if (const auto& coherent = image.storage().coherent)
    coherent->unmapped(rows_of(image, mapping.origin, mapping.region));
  if ((mapping.flags & kWrites) == 0) {
    send_marker(command);
    Ref<Event> own = command.sent();
    if (event != nullptr) *event = own.detach();
    return CL_SUCCESS;
  }
  BufferStorage& storage = image.storage();
  const ImageLayout& layout = *image.image();
  const ByteRange all = all_of(image);
  const bool covers = covers_all(image, mapping.region);
  // The host's copy is what the application wrote into: it stays whole, if it was.
  const bool host_has_all = image.maps_host_copy() && (covers || storage.residency.valid(all, kHost));
  if (!covers) command.reads(image, all);
  command.writes(image, all);
  if (command.error() != CL_SUCCESS) return command.error();
  const PackedRows rows = pack_rows(command, image.image_memory(), layout.at(mapping.origin, layout.pitches),
                                    layout.bytes(mapping.region), image.shared_storage());
  command.moves(rows.size, nullptr, &queue.device());
  EnqueueWriteImage message{queue.id(), command.event_id(), image.id(), mapping.origin, mapping.region, 0,
                            {},         command.wait_list()};
  if (rows.size <= kInlineDataMax && !rows.late) {
    message.data = Bytes(rows.bytes, rows.size);
  } else {
    message.transfer = offer_rows(command, false, rows)->id;
    storage.host_readers.push_back(Ref<Event>(command.event()));
  }
  command.send(message);
  Ref<Event> own = command.sent_and([&] {
    if (host_has_all && !rows.late) storage.residency.add_holder(all, kHost);
  });
  if (event != nullptr) *event = own.detach();
  return CL_SUCCESS;
}

}  // namespace remotecl
