#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/crypto/digest.h"
#include "runtime/handshake/handshake.h"
#include "runtime/protocol/frames.h"
#include "runtime/protocol/message_buffer.h"
#include "runtime/protocol/messages.h"
#include "runtime/transport/tcp/tcp.h"

namespace remotecl::testing {

// A received message and the bytes that it views.
template <class Message>
struct Received {
  std::shared_ptr<std::vector<std::byte>> bytes;
  Message message{};
  const Message* operator->() const { return &message; }
};

// Sends Hello and returns the Welcome; nothing if the server closes instead.
std::optional<Welcome> shake_hands(Connection& connection, Hello hello, std::string* text = nullptr);

inline Hello hello_of(Role role) { return {kMagic, kProtocolVersion, role, 0, 0, {}}; }

// Speaks the protocol by hand. One thread.
class WireClient {
 public:
  explicit WireClient(const Address& address);

  const Welcome& welcome() const { return welcome_; }
  const DeviceList& device_list() const { return device_list_.message; }
  Connection& control() { return *control_; }
  // The next message asks for its command's times; gives the command's number.
  std::uint64_t trace_next() {
    flags_ |= kTracedMessage;
    return ++traced_;
  }
  // The next message is a kernel that the client's scheduler has placed.
  void place_next() { flags_ |= kPlacedMessage; }
  Connection& bulk();
  void use_bulk(std::unique_ptr<Connection> bulk) { bulk_ = std::move(bulk); }
  std::uint64_t id() { return ++last_id_; }

  template <class Message>
  void add(const Message& message) {
    append_message(out_, message, std::exchange(flags_, 0));
  }
  void flush();
  template <class Message>
  void send(const Message& message) {
    add(message);
    flush();
  }

  // The next message of this kind for which `wanted` holds; others stay for later waits. Throws when the
  // session ends or nothing comes.
  template <class Message>
  Received<Message> wait(const std::function<bool(const Message&)>& wanted = nullptr) {
    Received<Message> received;
    received.bytes = take(Message::kCode, [&](Bytes payload) {
      Decoder decoder(payload);
      if (!decoder.read(received.message) || !decoder.at_end()) throw std::runtime_error("malformed reply");
      return !wanted || wanted(received.message);
    });
    return received;
  }
  // Whether a message of this kind is among those received so far.
  template <class Message>
  bool has() const {
    return std::ranges::any_of(seen_, [](const Seen& seen) { return seen.code == Message::kCode; });
  }
  // Of the messages of two kinds that `has` finds, whether the first one of the first kind came first.
  bool has_in_order(std::uint16_t first, std::uint16_t second) const;
  bool has_ended(EventId event) const;
  // All replies that the server sent before it answers this have been received afterwards.
  void ping();
  std::int32_t event_status(EventId event);

  // Says whose session this is; see Introduce.
  void introduce(const Digest& owner);
  // What most tests begin with.
  ObjectId make_queue(std::uint64_t properties = 0, std::uint32_t device = 0);
  ObjectId make_buffer(std::uint64_t size);
  Received<BuildDone> build(ObjectId program, std::string_view source, std::string_view options = {});
  ObjectId make_kernel(ObjectId program, std::string_view name);
  void finish(ObjectId queue);
  template <class T>
  void write(ObjectId queue, ObjectId buffer, std::span<const T> values, EventId event = 0,
             std::span<const EventId> waits = {}, std::uint64_t offset = 0) {
    const auto bytes = std::as_bytes(values);
    add(EnqueueWrite{queue, event, buffer, offset, bytes.size(), 0, bytes, waits});
  }
  template <class T>
  std::vector<T> read(ObjectId queue, ObjectId buffer, std::size_t count, std::span<const EventId> waits = {}) {
    const TransferId transfer = id();
    send(EnqueueRead{queue, id(), buffer, 0, count * sizeof(T), transfer, waits});
    const auto data = wait<ReadData>([transfer](const ReadData& read) { return read.transfer == transfer; });
    std::vector<T> values(count);
    if (data->data.size() != count * sizeof(T)) throw std::runtime_error("short read");
    std::memcpy(values.data(), data->data.data(), data->data.size());
    return values;
  }
  void enqueue(ObjectId queue, ObjectId kernel, std::uint64_t global, std::span<const KernelArgument> arguments,
               EventId event = 0, std::span<const EventId> waits = {});
  // A whole transfer on the bulk connection, in chunks.
  void send_bulk(TransferId transfer, Bytes bytes, std::size_t chunk_size = kBulkChunkMax);
  // Bytes of a write that was announced as pushed.
  void push_bulk(TransferId transfer, Bytes bytes);
  std::vector<std::byte> receive_bulk(TransferId transfer, std::size_t size);
  // Adds the next chunk of any transfer to its bytes. Returns which one it is.
  TransferId receive_chunk(std::map<TransferId, std::vector<std::byte>>& transfers);
  void receive_bulk_to(TransferId transfer, MutableBytes bytes);

 private:
  struct Seen {
    std::uint16_t code;
    std::shared_ptr<std::vector<std::byte>> payload;
  };

  // Takes the first message of this kind that is `wanted` off those that are seen, or receives until there is one.
  std::shared_ptr<std::vector<std::byte>> take(std::uint16_t code, const std::function<bool(Bytes)>& wanted);
  void receive();

  const Address address_;
  std::unique_ptr<Connection> control_, bulk_;
  Welcome welcome_{};
  MessageBuffer in_;
  ByteBuffer out_;
  std::deque<Seen> seen_;
  Received<DeviceList> device_list_;
  std::uint64_t last_id_ = 0;
  std::uint64_t traced_ = 0;
  std::uint16_t flags_ = 0;
};

inline KernelArgument memory_argument(std::uint32_t index, ObjectId buffer) {
  return {index, ArgumentKind::kMemory, buffer, {}};
}
// The argument views the value.
template <class T>
KernelArgument value_argument(std::uint32_t index, const T&& value) = delete;
template <class T>
KernelArgument value_argument(std::uint32_t index, const T& value) {
  return {index, ArgumentKind::kValue, 0, std::as_bytes(std::span(&value, 1))};
}

}  // namespace remotecl::testing
