#include "fakes/wire/wire_client.h"

#include <chrono>

namespace remotecl::testing {

std::optional<Welcome> shake_hands(Connection& connection, Hello hello, std::string* text) {
  connection.write(encode_frame<Hello, kHelloSize>(hello));
  std::array<std::byte, kWelcomeSize> bytes;
  if (!connection.read_exactly(bytes)) return std::nullopt;
  auto welcome = decode_frame<Welcome>(bytes);
  std::vector<std::byte> words(welcome.text_size);
  if (!connection.read_exactly(words)) return std::nullopt;
  if (text != nullptr) *text = as_text(words);
  return welcome;
}

WireClient::WireClient(const Address& address) : address_(address) {
  control_ = tcp::connect(address, std::chrono::seconds(5));
  control_->set_read_timeout(std::chrono::seconds(20));
  const auto welcome = shake_hands(*control_, hello_of(Role::kControl));
  if (!welcome || welcome->status != WelcomeStatus::kAccepted) throw std::runtime_error("not welcome");
  welcome_ = *welcome;
  device_list_ = wait<DeviceList>();
}

Connection& WireClient::bulk() {
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

void WireClient::flush() {
  control_->write(out_.bytes());
  out_.clear();
}

bool WireClient::has_in_order(std::uint16_t first, std::uint16_t second) const {
  const auto found = std::ranges::find_if(
      seen_, [&](std::uint16_t code) { return code == first || code == second; }, &Seen::code);
  return found != seen_.end() && found->code == first;
}

bool WireClient::has_ended(EventId event) const {
  for (const auto& seen : seen_) {
    EventDone done{};
    if (seen.code == EventDone::kCode && Decoder(*seen.payload).read(done) && done.event == event) return true;
  }
  return false;
}

void WireClient::ping() {
  const Token token = id();
  send(Ping{token});
  wait<Pong>([token](const Pong& pong) { return pong.token == token; });
}

std::int32_t WireClient::event_status(EventId event) {
  return wait<EventDone>([event](const EventDone& done) { return done.event == event; })->status;
}

void WireClient::introduce(const Digest& owner) { add(Introduce{1, "here", "test", 0, owner}); }

ObjectId WireClient::make_queue(std::uint64_t properties, std::uint32_t device) {
  const ObjectId queue = id();
  add(CreateQueue{queue, device, properties});
  return queue;
}

ObjectId WireClient::make_buffer(std::uint64_t size) {
  const ObjectId buffer = id();
  add(CreateBuffer{buffer, 1, size});
  return buffer;
}

Received<BuildDone> WireClient::build(ObjectId program, std::string_view source, std::string_view options) {
  const Token token = id();
  const std::uint32_t device = 0;
  add(CreateProgramWithSource{program, as_bytes(source)});
  send(BuildProgram{program, token, Array<std::uint32_t>(&device, 1), options, {}, {}});
  return wait<BuildDone>([token](const BuildDone& done) { return done.token == token; });
}

ObjectId WireClient::make_kernel(ObjectId program, std::string_view name) {
  const ObjectId kernel = id();
  add(CreateKernel{kernel, program, name});
  return kernel;
}

void WireClient::finish(ObjectId queue) {
  const Token token = id();
  send(Finish{queue, token});
  wait<Finished>([token](const Finished& finished) { return finished.token == token; });
}

void WireClient::enqueue(ObjectId queue, ObjectId kernel, std::uint64_t global,
                         std::span<const KernelArgument> arguments, EventId event, std::span<const EventId> waits) {
  add(EnqueueKernel{queue, event, kernel, 1, 0, {0, 0, 0}, {global, 1, 1}, {1, 1, 1}, arguments, waits});
}

void WireClient::send_bulk(TransferId transfer, Bytes bytes, std::size_t chunk_size) {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), chunk_size);
    const auto header = encode_frame<BulkHeader, kBulkHeaderSize>({transfer, static_cast<std::uint32_t>(size), 0});
    if (!bulk().write(header, bytes.first(size))) throw std::runtime_error("bulk connection lost");
    bytes = bytes.subspan(size);
  }
}

void WireClient::push_bulk(TransferId transfer, Bytes bytes) {
  const auto header =
      encode_frame<BulkHeader, kBulkHeaderSize>({transfer, static_cast<std::uint32_t>(bytes.size()), kPushedChunk});
  if (!bulk().write(header, bytes)) throw std::runtime_error("bulk connection lost");
}

std::vector<std::byte> WireClient::receive_bulk(TransferId transfer, std::size_t size) {
  std::vector<std::byte> bytes(size);
  receive_bulk_to(transfer, bytes);
  return bytes;
}

TransferId WireClient::receive_chunk(std::map<TransferId, std::vector<std::byte>>& transfers) {
  std::array<std::byte, kBulkHeaderSize> header_bytes;
  if (!bulk().read_exactly(header_bytes)) throw std::runtime_error("bulk connection lost");
  const auto header = decode_frame<BulkHeader>(header_bytes);
  std::vector<std::byte>& bytes = transfers[header.transfer];
  bytes.resize(bytes.size() + header.size);
  if (!bulk().read_exactly(MutableBytes(bytes).last(header.size))) throw std::runtime_error("bulk connection lost");
  return header.transfer;
}

void WireClient::receive_bulk_to(TransferId transfer, MutableBytes bytes) {
  for (std::size_t have = 0; have < bytes.size();) {
    std::array<std::byte, kBulkHeaderSize> header_bytes;
    if (!bulk().read_exactly(header_bytes)) throw std::runtime_error("bulk connection lost");
    const auto header = decode_frame<BulkHeader>(header_bytes);
    if (header.transfer != transfer || header.size > bytes.size() - have) throw std::runtime_error("unexpected chunk");
    if (!bulk().read_exactly(bytes.subspan(have, header.size))) throw std::runtime_error("bulk connection lost");
    have += header.size;
  }
}

std::shared_ptr<std::vector<std::byte>> WireClient::take(std::uint16_t code, const std::function<bool(Bytes)>& wanted) {
  for (std::size_t at = 0;; ++at) {
    while (at >= seen_.size()) receive();
    if (seen_[at].code != code || !wanted(*seen_[at].payload)) continue;
    auto payload = std::move(seen_[at].payload);
    seen_.erase(seen_.begin() + static_cast<std::ptrdiff_t>(at));
    return payload;
  }
}

void WireClient::receive() {
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

}  // namespace remotecl::testing
