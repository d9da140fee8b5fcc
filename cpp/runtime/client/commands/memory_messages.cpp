#include "runtime/client/commands/memory_messages.h"

#include "runtime/client/objects/image_parts.h"
#include "runtime/client/trace/tracer.h"

namespace remotecl {

void send_read(const MemoryObject& object, Session& session, ObjectId queue, EventId event, ByteRange range,
               TransferId transfer, Array<EventId> wait_list, std::uint64_t record) {
  Tracer& tracer = Tracer::instance();
  if (const auto* image = object.image()) {
    const ImagePart part = part_of(image->shape, range);
    tracer.send(session, record,
                EnqueueReadImage{queue, event, object.id(), part.origin, part.region, transfer, wait_list});
  } else {
    tracer.send(session, record, EnqueueRead{queue, event, object.id(), range.offset, range.size, transfer, wait_list});
  }
}

void send_write(const MemoryObject& object, Session& session, ObjectId queue, EventId event, ByteRange range,
                TransferId transfer, Bytes data, Array<EventId> wait_list, std::uint64_t record) {
  Tracer& tracer = Tracer::instance();
  if (const auto* image = object.image()) {
    const ImagePart part = part_of(image->shape, range);
    tracer.send(session, record,
                EnqueueWriteImage{queue, event, object.id(), part.origin, part.region, transfer, data, wait_list});
  } else {
    tracer.send(session, record,
                EnqueueWrite{queue, event, object.id(), range.offset, range.size, transfer, data, wait_list});
  }
}

}  // namespace remotecl
