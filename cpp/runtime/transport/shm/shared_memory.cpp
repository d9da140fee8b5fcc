#include "runtime/transport/shm/shared_memory.h"

#include <span>
#include <utility>

#include "runtime/base/settings.h"
#include "runtime/transport/shm/shared_memory_connection.h"

namespace remotecl::shared_memory {
namespace {

// Values are sent as they are in memory. Hosts with another byte order cannot share memory anyway.
template <class T>
Bytes as_sent(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
MutableBytes as_received(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

constexpr std::uint64_t kNo = 0;  // no segment has this answer

}  // namespace

bool wanted() { return settings::on_or_off("REMOTECL_SHARED_MEMORY").value_or(true); }

std::unique_ptr<Connection> offer(std::unique_ptr<Connection> stream, std::size_t ring_bytes) {
  auto segment = SharedMemorySegment::create(ring_bytes);
  const SharedMemoryOffer offer = segment ? segment->offer() : SharedMemoryOffer{};
  std::uint64_t answer = kNo;
  if (!stream->write(as_sent(offer)) || !stream->read_exactly(as_received(answer))) return nullptr;
  if (answer == kNo) return stream;
  if (!segment || !segment->confirm(answer)) return nullptr;
  return std::make_unique<SharedMemoryConnection>(std::move(segment), std::move(stream));
}

std::unique_ptr<Connection> accept(std::unique_ptr<Connection> stream) {
  SharedMemoryOffer offer;
  if (!stream->read_exactly(as_received(offer))) return nullptr;
  auto segment = SharedMemorySegment::open(offer);
  if (!stream->write(as_sent(segment ? segment->answer() : kNo))) return nullptr;
  if (!segment) return stream;
  return std::make_unique<SharedMemoryConnection>(std::move(segment), std::move(stream));
}

}  // namespace remotecl::shared_memory
