// Mapping of images: the application sees its own memory (CL_MEM_USE_HOST_PTR), a buffer's host copy, or the
// host's copy of the packed pixels.
#include "runtime/client/commands/device_plans.h"
#include "runtime/client/commands/image_commands.h"
#include "runtime/client/commands/map_plan.h"
#include "runtime/client/commands/transfer_plans.h"

namespace remotecl {
namespace {

struct ImageArea {
  MemoryObject& memory;
  Extent origin, region;

  const ImageLayout& layout() const { return *memory.image(); }
  Rectangle rectangle() const { return layout().at(origin, memory.mapped_pitches()); }
  Extent rows() const { return layout().bytes(region); }
  ByteRange range() const { return all_of(memory); }
  CoherentHostMemory::Ranges ranges() const {
    const Rectangle pixels = rectangle();
    const Extent bytes = rows();
    RangeSet ranges;
    for (std::uint64_t z = 0; z < bytes[2]; ++z) {
      for (std::uint64_t y = 0; y < bytes[1]; ++y) {
        ranges.add(memory.range(pixels.begin() + z * pixels.slice_pitch + y * pixels.row_pitch, bytes[0]));
      }
    }
    return ranges.ranges();
  }
  std::byte* add_mapping(cl_map_flags flags) const REQUIRES(kMemoryMutex) {
    const std::uint64_t begin = rectangle().begin();
    std::byte* const pointer = memory.image_memory() + begin;
    const ByteRange bytes = memory.maps_host_copy() ? memory.range(begin, span()) : ByteRange{};
    memory.add_mapping({bytes, flags, pointer, origin, region});
    return pointer;
  }
  void fetch(PendingCommand& command, std::byte*) const REQUIRES(kMemoryMutex) {
    const TransferRef transfer =
        expect_rows(command, false, memory.image_memory(), rectangle(), rows(), memory.shared_storage());
    send_message(command, EnqueueReadImage{0, 0, memory.id(), origin, region, transfer->id, {}});
  }
  std::uint64_t span() const { return layout().at({}, memory.mapped_pitches()).extent(rows()); }
  bool fills_host_copy() const { return memory.maps_host_copy() && overwrites_all(memory, region); }
};

struct UnmapImagePlan : Plan {
  static constexpr bool kNeedsEvent = true;
  static constexpr cl_command_type type = CL_COMMAND_UNMAP_MEM_OBJECT;

  MemoryObject& image;
  void* mapped;
  Mapping mapping{};
  bool is_written = false;
  bool host_has_all = false;  // the application wrote into the host's copy, which is complete

  cl_int prepare(PendingCommand&) REQUIRES(kMemoryMutex) {
    if (!image.find_mapping(mapped, mapping)) return CL_INVALID_VALUE;
    is_written = (mapping.flags & kMapsForWriting) != 0;
    host_has_all = image.maps_host_copy() &&
                   (overwrites_all(image, mapping.region) || image.storage().residency.valid(all_of(image), kHost));
    return CL_SUCCESS;
  }
  void will_use(auto& uses) const REQUIRES(kMemoryMutex) { uses.writes(image, all_of(image)); }
  void uses(auto& uses) const REQUIRES(kMemoryMutex) {
    if (is_written) writes_region(uses, image, mapping.region);
  }
  cl_int send(PendingCommand& command) REQUIRES(kMemoryMutex) {
    if (!is_written) {
      send_place_marker(command);
      return CL_SUCCESS;
    }
    const ImageLayout& layout = *image.image();
    RowsToWrite rows = rows_to_write(command, image.image_memory(), layout.at(mapping.origin, image.mapped_pitches()),
                                     layout.bytes(mapping.region), image.shared_storage());
    command.moves(rows.size(), nullptr, &command.queue().device());
    EnqueueWriteImage message{0, 0, image.id(), mapping.origin, mapping.region, 0, {}, {}};
    if (rows.fit_in_message()) {
      message.data = rows.pack();
    } else {
      message.transfer = offer_rows(command, false, rows)->id;
      image.storage().host_readers.add(Ref<Event>(command.event()));
    }
    send_message(command, message);
    host_has_all = host_has_all && !rows.late;
    return CL_SUCCESS;
  }
  void sent(PendingCommand&) const REQUIRES(kMemoryMutex) {
    BufferStorage& storage = image.storage();
    image.remove_mapping(mapped);
    if (storage.coherent) storage.coherent->unmapped(ImageArea{image, mapping.origin, mapping.region}.ranges());
    if (is_written && host_has_all) storage.residency.add_holder(all_of(image), kHost);
  }
};

}  // namespace

cl_int enqueue_map_image(CommandQueue& queue, MemoryObject& image, bool blocking, cl_map_flags flags,
                         const Extent& origin, const Extent& region, WaitList wait, Event** event, Pitches& pitches,
                         void** mapped) {
  pitches = image.mapped_pitches();
  const MapPlan<ImageArea> plan{{}, CL_COMMAND_MAP_IMAGE, blocking, flags, {image, origin, region}, mapped};
  return submit(queue, plan, wait, event);
}

cl_int enqueue_unmap_image(CommandQueue& queue, MemoryObject& image, void* mapped, WaitList wait, Event** event) {
  return submit(queue, UnmapImagePlan{{}, image, mapped}, wait, event);
}

}  // namespace remotecl
