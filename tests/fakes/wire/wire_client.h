#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

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
inline std::optional<Welcome> shake_hands(Connection& connection, Hello hello, std::string* text = nullptr) {
  connection.write(encode_frame<Hello, kHelloSize>(hello));
  std::array<std::byte, kWelcomeSize> bytes;
  if (!connection.read_exactly(bytes)) return std::nullopt;
  auto welcome = decode_frame<Welcome>(bytes);
  std::vector<std::byte> words(welcome.text_size);
  if (!connection.read_exactly(words)) return std::nullopt;
  if (text != nullptr) *text = as_text(words);
  return welcome;
}

inline Hello hello_of(Role role) { return {kMagic, kProtocolVersion, role, 0, 0, {}}; }

// Speaks the protocol by hand. One thread.
class WireClient {
 public:
  explicit WireClient(const Address& address) : address_(address) {
    control_ = tcp::connect(address, std::chrono::seconds(5));
    control_->set_read_timeout(std::chrono::seconds(20));
    const auto welcome = shake_hands(*control_, hello_of(Role::kControl));
    if (!welcome || welcome->status != WelcomeStatus::kAccepted) throw std::runtime_error("not welcome");
    welcome_ = *welcome;
    device_list_ = wait<DeviceList>();
  }

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
  Connection& bulk() {
    if (bulk_ == nullptr) {
      bulk_ = tcp::connect(address_, std::chrono::seconds(5));
      bulk_->set_read_timeout(std::chrono::seconds(20));
      Hello hello = hello_of(Role::kBulk);
      hello.session = welcome_.session;
      hello.secret = connecting_proof(welcome_.secret, hello);
      const auto welcome = shake_hands(*bulk_, hello);
      if (!welcome || welcome->status != WelcomeStatus::kAccepted) throw std::runtime_error("bulk not welcome");
    }
    return *bulk_;
  }
  void use_bulk(std::unique_ptr<Connection> bulk) { bulk_ = std::move(bulk); }
  std::uint64_t id() { return ++last_id_; }

  template <class Message>
  void add(const Message& message) {
    append_message(out_, message, std::exchange(flags_, 0));
  }
  void flush() {
    control_->write(out_.bytes());
    out_.clear();
  }
  template <class Message>
  void send(const Message& message) {
    add(message);
    flush();
  }

  // The next message of this kind for which `wanted` holds; others stay for later waits. Throws when the
  // session ends or nothing comes.
  template <class Message>
  Received<Message> wait(std::function<bool(const Message&)> wanted = nullptr) {
    for (std::size_t at = 0;; ++at) {
      while (at >= seen_.size()) receive();
      if (seen_[at].code != Message::kCode) continue;
      Received<Message> received{seen_[at].payload, {}};
      Decoder decoder(*received.bytes);
      if (!decoder.read(received.message) || !decoder.at_end()) throw std::runtime_error("malformed reply");
      if (wanted && !wanted(received.message)) continue;
      seen_.erase(seen_.begin() + static_cast<std::ptrdiff_t>(at));
      return received;
    }
  }
  // Whether a message of this kind is among those received so far.
  template <class Message>
  bool has() const {
    for (const auto& seen : seen_) {
      if (seen.code == Message::kCode) return true;
    }
    return false;
  }
  bool has_ended(EventId event) const {
    for (const auto& seen : seen_) {
      EventDone done{};
      if (seen.code == EventDone::kCode && Decoder(*seen.payload).read(done) && done.event == event) return true;
    }
    return false;
  }
  // All replies that the server sent before it answers this have been received afterwards.
  void ping() {
    const Token token = id();
    send(Ping{token});
    wait<Pong>([token](const Pong& pong) { return pong.token == token; });
  }
  std::int32_t event_status(EventId event) {
    return wait<EventDone>([event](const EventDone& done) { return done.event == event; })->status;
  }

  // What most tests begin with.
  ObjectId make_queue(std::uint64_t properties = 0, std::uint32_t device = 0) {
    const ObjectId queue = id();
    add(CreateQueue{queue, device, properties});
    return queue;
  }
  ObjectId make_buffer(std::uint64_t size) {
    const ObjectId buffer = id();
    add(CreateBuffer{buffer, 1, size});
    return buffer;
  }
  Received<BuildDone> build(ObjectId program, std::string_view source, std::string_view options = {}) {
    const Token token = id();
    const std::uint32_t device = 0;
    add(CreateProgramWithSource{program, as_bytes(source)});
    send(BuildProgram{program, token, Array<std::uint32_t>(&device, 1), options, {}, {}});
    return wait<BuildDone>([token](const BuildDone& done) { return done.token == token; });
  }
  ObjectId make_kernel(ObjectId program, std::string_view name) {
    const ObjectId kernel = id();
    add(CreateKernel{kernel, program, name});
    return kernel;
  }
  void finish(ObjectId queue) {
    const Token token = id();
    send(Finish{queue, token});
    wait<Finished>([token](const Finished& finished) { return finished.token == token; });
  }
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
               EventId event = 0, std::span<const EventId> waits = {}) {
    add(EnqueueKernel{queue, event, kernel, 1, 0, {0, 0, 0}, {global, 1, 1}, {1, 1, 1}, arguments, waits});
  }
  // A whole transfer on the bulk connection, in chunks.
  void send_bulk(TransferId transfer, Bytes bytes, std::size_t chunk_size = kBulkChunkMax) {
    while (!bytes.empty()) {
      const std::size_t size = std::min(bytes.size(), chunk_size);
      const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({transfer, static_cast<std::uint32_t>(size), 0});
      if (!bulk().write(header, bytes.first(size))) throw std::runtime_error("bulk connection lost");
      bytes = bytes.subspan(size);
    }
  }
  // Bytes of a write that was announced as pushed.
  void push_bulk(TransferId transfer, Bytes bytes) {
    const auto header =
        encode_frame<BulkHeader, kBulkHeaderSize>({transfer, static_cast<std::uint32_t>(bytes.size()), kPushedChunk});
    if (!bulk().write(header, bytes)) throw std::runtime_error("bulk connection lost");
  }
  std::vector<std::byte> receive_bulk(TransferId transfer, std::size_t size) {
    std::vector<std::byte> bytes(size);
    receive_bulk_to(transfer, bytes);
    return bytes;
  }
  // Adds the next chunk of any transfer to its bytes. Returns which one it is.
  TransferId receive_chunk(std::map<TransferId, std::vector<std::byte>>& transfers) {
    std::array<std::byte, kBulkHeaderSize> header_bytes;
    if (!bulk().read_exactly(header_bytes)) throw std::runtime_error("bulk connection lost");
    const auto header = decode_frame<BulkHeader>(header_bytes);
    std::vector<std::byte>& bytes = transfers[header.transfer];
    bytes.resize(bytes.size() + header.size);
    if (!bulk().read_exactly(MutableBytes(bytes).last(header.size))) throw std::runtime_error("bulk connection lost");
    return header.transfer;
  }
  void receive_bulk_to(TransferId transfer, MutableBytes bytes) {
    for (std::size_t have = 0; have < bytes.size();) {
      std::array<std::byte, kBulkHeaderSize> header_bytes;
      if (!bulk().read_exactly(header_bytes)) throw std::runtime_error("bulk connection lost");
      const auto header = decode_frame<BulkHeader>(header_bytes);
      if (header.transfer != transfer || header.size > bytes.size() - have)
        throw std::runtime_error("unexpected chunk");
      if (!bulk().read_exactly(bytes.subspan(have, header.size))) throw std::runtime_error("bulk connection lost");
      have += header.size;
    }
  }

 private:
  struct Seen {
    std::uint16_t code;
    std::shared_ptr<std::vector<std::byte>> payload;
  };

  void receive() {
    const MutableBytes space = in_.space();
    const std::size_t count = control_->read_some(space);
    if (count == 0) throw std::runtime_error("the session ended, or the server is silent");
    in_.commit(count);
    std::uint16_t code = 0;
    Bytes payload;
    while (in_.next(code, payload) == MessageBuffer::Next::kMessage) {
      seen_.push_back({code, std::make_shared<std::vector<std::byte>>(payload.begin(), payload.end())});
    }
  }

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
