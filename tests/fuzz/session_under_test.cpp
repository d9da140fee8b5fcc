#include "session_under_test.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "runtime/handshake/handshake.h"
#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "server/daemon/extras.h"
#include "server/handlers/dispatch.h"
#include "server/peer/local_link_dialer.h"
#include "server/program/program_files.h"
#include "server/util/log.h"

namespace remotecl::fuzz {
namespace {

using namespace std::chrono_literals;

constexpr auto kLong = 20s;   // longer is a hang, which somebody else notices
constexpr auto kShort = 3ms;  // of a reader that may wait for something else than bytes

struct Everything {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(::getpid()));
  server::NativeDriver driver{"all"};
  server::ProgramFiles files{(std::filesystem::create_directories(folder), folder)};
  server::BuildCache built;
  Store kept{std::make_unique<FileDirectory>(folder / "store"),
             {.directory = 16u << 20, .memory = 0},
             {},
             Store::Kind::kUploads};
  server::UploadStore uploads{&kept};
  server::StdoutCapture output;
  server::StatusCollector board{driver};
  server::LoadBoard loads{driver, [this] { board.find_ends(); }};
  server::PeerRules peers;
  server::SessionWatch watch{driver, [](server::Session&) {}};
  server::OwnPorts own_ports;
  const server::MakeLinkDialer dialers = [this](server::LinkAsker asker) {
    return make_ref<server::LocalLinkDialer>(server::LocalLinkDialer::Daemon{peers, own_ports, 1}, std::move(asker));
  };
  const std::unique_ptr<server::ArgumentProvider> arguments = server::extras::argument_provider(true, own_ports);
  server::Shared shared{server::handler_table(),
                        driver,
                        files,
                        built,
                        uploads,
                        nullptr,
                        output,
                        board,
                        loads,
                        peers,
                        dialers,
                        watch,
                        *arguments};
};

[[noreturn]] void complain(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

template <class Message>
void check(Bytes payload) {
  Message message{};
  Decoder decoder(payload);
  if (!decoder.read(message) || !decoder.at_end()) {
    complain("the session has sent a malformed " + std::string(message_name(Message::kCode)));
  }
}

void check_report(std::uint16_t code, Bytes payload) {
  if (code == Code::kStatus) return check<StatusWithRdma>(payload);
  switch (code) {
#define REMOTECL_COMMAND(name, number, thread)
#define REMOTECL_REPORT(name, number) \
  case number:                        \
    return check<name>(payload);
#define REMOTECL_PEER_MESSAGE(name, number)
#include "runtime/protocol/commands.def"
    default:
      complain("the session has sent message code " + std::to_string(code));
  }
}

// What answers a message that is carried out beside the others; 0: nothing.
std::uint16_t answer_to(std::uint16_t code) {
  switch (code) {
    case Code::kBuildProgram:
    case Code::kCompileProgram:
    case Code::kLinkProgram:
    case Code::kInspectProgram:
      return Code::kBuildDone;
    case Code::kGetProgramBinary:
      return Code::kProgramBinary;
    case Code::kSpecializeProgram:
    case Code::kQueryKernel:
    case Code::kSuggestLocalSize:
      return Code::kNativeAnswer;
    default:
      return 0;
  }
}

}  // namespace

server::Shared& shared() {
  static Everything& everything = *new Everything;
  static const int registered = (std::atexit([] {
                                   std::error_code error;
                                   std::filesystem::remove_all(everything.folder, error);
                                 }),
                                 0);
  static_cast<void>(registered);
  return everything.shared;
}

void Reports::take(Bytes bytes) {
  MutexLock lock(mutex_);
  while (!bytes.empty()) {
    const MutableBytes space = buffer_.space();
    const std::size_t count = std::min(bytes.size(), space.size());
    std::memcpy(space.data(), bytes.data(), count);
    buffer_.commit(count);
    bytes = bytes.subspan(count);
    std::uint16_t code = 0;
    Bytes payload;
    auto next = MessageBuffer::Next::kNeedMore;
    while ((next = buffer_.next(code, payload)) == MessageBuffer::Next::kMessage) {
      check_report(code, payload);
      ++counts_[code];
    }
    if (next == MessageBuffer::Next::kBroken) complain("the session has sent a message that is too long");
  }
  changed_.notify_all();
}

void Reports::wait_for(std::uint16_t code, std::size_t count) {
  const auto end = std::chrono::steady_clock::now() + 100ms;
  MutexLock lock(mutex_);
  while (counts_[code] < count && counts_[Code::kSessionError] == 0 && !has_given_up_) {
    // The message was swallowed by one before it, whose size was wrong: so will be those that follow.
    has_given_up_ = changed_.wait_until(mutex_, end) == std::cv_status::timeout;
  }
}

SessionUnderTest::SessionUnderTest()
    : control_(std::make_shared<Pipe>([reports = reports_](Bytes bytes) { reports->take(bytes); })) {
  remotecl::server::set_log_level(remotecl::server::LogLevel::kOff);
  static const server::Users users({}, {}, shared().driver);
  const Ref<server::User>& user = users.owner_of(0);
  user->begin_session();
  session_ = make_ref<server::Session>(shared(), std::make_unique<MemoryConnection>(control_), Address{}, 1, Secret{},
                                       users.grant(user, shared().driver), false);
  shared().board.add(session_);
  shared().loads.add(session_->id(), 1);
  thread_ = std::thread([session = session_] { session->run(); });
}

SessionUnderTest::~SessionUnderTest() {
  settle();
  for (const auto& pipe : {peer_control_, peer_bulk_, bulk_, control_}) {
    if (pipe) pipe->end();
  }
  thread_.join();
  if (bulk_thread_.joinable()) bulk_thread_.join();
  shared().loads.remove(session_->id());
  shared().board.remove(*session_);
  session_ = nullptr;
  // What the driver still calls back may keep the session for a moment.
  const auto end = std::chrono::steady_clock::now() + 10s;
  for (const auto& device : shared().driver.devices()) {
    while (device->memory().used() != 0) {
      if (std::chrono::steady_clock::now() > end) complain("a session has kept memory of a device");
      std::this_thread::yield();
    }
  }
}

void SessionUnderTest::settle() {
  if (!std::exchange(has_unread_, false)) return;
  control_->wait_until_read(kLong);
}

void SessionUnderTest::feed(const Record& record) {
  switch (record.channel) {
    case kControl:
      return feed_control(record, true);
    case kControlUnawaited:
      return feed_control(record, false);
    case kRaw:
      has_unread_ = true;
      return control_->feed(record.payload);
    case kBulk:
      settle();
      bulk().feed(whole_chunk(record));
      return bulk().wait_until_read(kShort);
    case kPeerControl:
    case kPeerBulk:
      settle();
      link_peer();
      break;
    default:
      return;
  }
  const auto& pipe = record.channel == kPeerControl ? peer_control_ : peer_bulk_;
  if (!pipe) return;
  if (record.channel == kPeerControl) {
    const auto header = encode_frame<MessageHeader, kMessageHeaderSize>(
        {static_cast<std::uint32_t>(record.payload.size()), record.code, 0});
    pipe->feed(header);
  }
  pipe->feed(record.channel == kPeerBulk ? whole_chunk(record) : record.payload);
  pipe->wait_until_read(kShort);
}

void SessionUnderTest::feed_control(const Record& record, bool is_awaited) {
  const std::vector<std::byte> payload =
      record.code == Code::kConnectPeer ? without_addresses(record.payload) : record.payload;
  const auto header =
      encode_frame<MessageHeader, kMessageHeaderSize>({static_cast<std::uint32_t>(payload.size()), record.code, 0});
  std::vector<std::byte> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  control_->feed(bytes);
  has_unread_ = true;
  AcceptPeer accept{};
  if (record.code == Code::kAcceptPeer && Decoder(record.payload).read(accept)) accepted_ = accept;
  if (is_awaited) await_answer(record.code);
}

void SessionUnderTest::await_answer(std::uint16_t code) {
  const std::uint16_t answer = answer_to(code);
  if (answer == 0) return;
  settle();
  reports_->wait_for(answer, ++asked_[answer]);
}

std::vector<std::byte> SessionUnderTest::without_addresses(Bytes payload) {
  ConnectPeer message{};
  if (Decoder decoder(payload); !decoder.read(message) || !decoder.at_end()) return {payload.begin(), payload.end()};
  message.addresses = {};
  return record_of(message).payload;
}

Pipe& SessionUnderTest::bulk() {
  if (bulk_ == nullptr) {
    bulk_ = std::make_shared<Pipe>([](Bytes) {});
    if (session_->channels().find(0)->claim()) {
      bulk_thread_ = std::thread([session = session_, pipe = bulk_] {
        server::BulkChannel& channel = *session->channels().find(0);
        if (channel.attach({.connection = std::make_unique<MemoryConnection>(pipe)})) channel.run();
      });
    }
  }
  return *bulk_;
}

void SessionUnderTest::link_peer() {
  if (!accepted_) return;
  peer_control_ = attach_peer(Role::kPeerControl);
  peer_bulk_ = attach_peer(Role::kPeerBulk);
  accepted_.reset();
}

std::shared_ptr<Pipe> SessionUnderTest::attach_peer(Role role) {
  Hello hello{kMagic, kProtocolVersion, role, 0, 1, {}};
  hello.secret = connecting_proof(accepted_->secret, hello);
  const auto invited = session_->peers().find(hello, std::chrono::steady_clock::now());
  if (!invited) return nullptr;
  const auto pipe = std::make_shared<Pipe>([](Bytes) {});
  session_->peers().attach(*invited, role, {.connection = std::make_unique<MemoryConnection>(pipe)}, Address{});
  return pipe;
}

}  // namespace remotecl::fuzz
