#pragma once

#include "runtime/client/objects/memory_object.h"
#include "runtime/protocol/messages.h"

namespace remotecl {

// Send a read or write of these bytes of a memory object. A range of an image must be a part
// (image_parts.h). `record`: see Tracer::send().
void send_read(const MemoryObject& object, Session& session, ObjectId queue, EventId event, ByteRange range,
               TransferId transfer, Array<EventId> wait_list, std::uint64_t record);
void send_write(const MemoryObject& object, Session& session, ObjectId queue, EventId event, ByteRange range,
                TransferId transfer, Bytes data, Array<EventId> wait_list, std::uint64_t record);

}  // namespace remotecl
