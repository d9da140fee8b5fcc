#include "stream_peer.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "measure.h"

namespace remotecl::bench {
namespace {

constexpr std::size_t kEchoBytes = 64;
constexpr std::size_t kChunkBytesMax = 4u << 20;

// What a chunk of bulk data has in front, and here also a request: a size of up to kEchoBytes is echoed.
struct Header {
  std::uint64_t size;
  std::uint64_t reserved;
};

template <class T>
MutableBytes bytes_of(T& value) {
  return {reinterpret_cast<std::byte*>(&value), sizeof value};
}

[[noreturn]] void fail() { throw std::runtime_error("the peer is gone"); }

}  // namespace

void serve(Connection& connection) {
  std::vector<std::byte> memory(kEchoBytes);
  Header request{};
  while (connection.read_exactly(bytes_of(request))) {
    if (memory.size() < request.size) memory.resize(request.size);
    if (request.size <= kEchoBytes) {
      const MutableBytes message(memory.data(), request.size);
      while (connection.read_exactly(message) && connection.write(message)) {
      }
      return;
    }
    for (std::size_t at = 0; at < request.size; at += kChunkBytesMax) {
      Header header{};
      if (!connection.read_exactly(bytes_of(header)) || !connection.read_exactly({memory.data() + at, header.size}))
        return;
    }
    if (!connection.write(Bytes(memory).first(1))) return;
  }
}

double send(Connection& connection, Bytes data) {
  Header request{data.size(), 0};
  std::byte confirmed{};
  const Stopwatch watch;
  bool well = connection.write(bytes_of(request));
  for (std::size_t at = 0; well && at < data.size(); at += kChunkBytesMax) {
    const Bytes chunk = data.subspan(at, std::min(data.size() - at, kChunkBytesMax));
    Header header{chunk.size(), 0};
    well = connection.write(bytes_of(header), chunk);
  }
  if (!well || !connection.read_exactly({&confirmed, 1})) fail();
  return watch.seconds();
}

void begin_echo(Connection& connection) {
  Header request{kEchoBytes, 0};
  if (!connection.write(bytes_of(request))) fail();
}

double round_trip(Connection& connection) {
  std::byte message[kEchoBytes] = {};
  const Stopwatch watch;
  if (!connection.write(message) || !connection.read_exactly(message)) fail();
  return watch.seconds();
}

}  // namespace remotecl::bench
