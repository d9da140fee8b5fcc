#pragma once

#include "runtime/protocol/messages/message.h"

// Sockets inside kernels.
namespace remotecl {

// Makes memory with the rings of `sockets` sockets, through which kernels of that device reach the server's sockets.
// ReleaseBuffer releases it; apart from that only kernel arguments name it.
struct CreateNetwork {
  REMOTECL_MESSAGE(CreateNetwork);
  ObjectId buffer;
  Token token;
  std::uint32_t device;
  std::uint32_t sockets;
  std::uint32_t ring_bytes;  // of each direction of each socket; a power of two
  REMOTECL_FIELDS(buffer, token, device, sockets, ring_bytes)
};
struct NetworkCreated {
  REMOTECL_MESSAGE(NetworkCreated);
  Token token;
  std::int32_t error;
  std::uint64_t size;     // of the memory, if there was no error
  std::string_view text;  // why there was one, for people
  REMOTECL_FIELDS(token, error, size, text)
};
// Closes its sockets, and ends all waits of kernels for them.
struct StopNetwork {
  REMOTECL_MESSAGE(StopNetwork);
  ObjectId buffer;
  REMOTECL_FIELDS(buffer)
};

}  // namespace remotecl
