// Bulk data that a peer says is compressed. Whatever it sends, no more is delivered than a header names, nothing is
// written beyond the receiver's memory, and no more memory is taken than one chunk has; the sanitizer and the counts
// tell.
//
// The first byte says how the receiver reads: by blocking calls or not, and into how much room at a time.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "runtime/transport/bulk/stream_bulk_transport.h"
#include "support/memory_connection.h"

using namespace remotecl;

namespace {

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// Returns false at the end.
bool take_chunk(BulkTransport& transport, std::size_t size, std::size_t room, bool blocks) {
  while (size != 0) {
    const std::size_t wanted = std::min(size, room);
    const auto to = std::make_unique<std::byte[]>(wanted);  // as large as it is: the sanitizer sees a byte too many
    const MutableBytes bytes(to.get(), wanted);
    const std::ptrdiff_t count = blocks ? (transport.receive({bytes}) ? static_cast<std::ptrdiff_t>(wanted) : 0)
                                        : transport.try_receive({bytes});
    if (count > static_cast<std::ptrdiff_t>(wanted)) complain("more was read than there was room for");
    if (count <= 0) return false;
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool blocks = (data[0] & 1) != 0;
  const std::size_t room = (data[0] & 2) != 0 ? kBulkChunkMax : std::size_t{1} << (8 + data[0] % 8);
  auto pipe = std::make_shared<fuzz::Pipe>([](Bytes) {});
  pipe->feed(std::as_bytes(std::span(data + 1, size - 1)));
  pipe->end();
  StreamBulkTransport transport(std::make_shared<fuzz::MemoryConnection>(pipe), RdmaState(), CompressionMode::kAuto);
  BulkHeader header{};
  while (blocks ? transport.receive_header(header) : transport.try_receive_header(header) > 0) {
    if (header.size > kBulkChunkMax || header.status < 0) break;  // as receivers do
    if (!take_chunk(transport, header.size, room, blocks)) break;
  }
  const CompressionCounts counts = transport.compression();
  if (counts.received_after >= size ||
      (counts.received_before != 0 && counts.received_before <= counts.received_after)) {
    complain("bytes were miscounted");
  }
  if (!transport.violation().empty() && !pipe->is_shut_down()) complain("a violation does not end the connection");
  return 0;
}
