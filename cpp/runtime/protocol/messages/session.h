#pragma once

#include "runtime/protocol/messages/message.h"

// The session itself: liveness, errors that end it, and its devices.
namespace remotecl {

enum class StreamKind : std::uint32_t { kControl = 0, kBulk = 1 };

struct Ping {
  REMOTECL_MESSAGE(Ping);
  Token token;
  REMOTECL_FIELDS(token)
};
struct Pong {
  REMOTECL_MESSAGE(Pong);
  Token token;
  REMOTECL_FIELDS(token)
};
// The server's last message before it closes a session: the client broke the protocol, or the server is going
// away.
struct SessionError {
  REMOTECL_MESSAGE(SessionError);
  std::string_view text;
  REMOTECL_FIELDS(text)
};

// How many bytes of a resumable stream have been received, so that the sender can drop them. Peers send it
// too.
struct ServerReceived {
  REMOTECL_MESSAGE(ServerReceived);
  StreamKind stream;
  std::uint32_t channel;  // of the session's bulk data; else 0
  std::uint64_t bytes;
  REMOTECL_FIELDS(stream, channel, bytes)
};
struct ClientReceived {
  REMOTECL_MESSAGE(ClientReceived);
  StreamKind stream;
  std::uint32_t channel;
  std::uint64_t bytes;
  REMOTECL_FIELDS(stream, channel, bytes)
};
// The client's process is about to end, and will not resume its streams when its connections break.
struct Leave {
  REMOTECL_MESSAGE(Leave);
  REMOTECL_FIELDS()
};

// One native answer of clGetDeviceInfo or clGetPlatformInfo, byte for byte.
struct InfoValue {
  std::uint32_t name;
  Bytes value;
  REMOTECL_FIELDS(name, value)
};
struct DeviceDescription {
  std::uint32_t index;  // names the device in all other messages
  Sequence<InfoValue> platform_info;
  Sequence<InfoValue> info;
  REMOTECL_FIELDS(index, platform_info, info)
};
// The first message of a session, sent without a request.
struct DeviceList {
  REMOTECL_MESSAGE(DeviceList);
  Sequence<DeviceDescription> devices;
  REMOTECL_FIELDS(devices)
};

}  // namespace remotecl
