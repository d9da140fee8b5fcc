// What the process of a session says to the daemon, when its client's kernels speak for it: packets of any type with
// descriptors of any kind, and whatever it writes into its page of claims. Whatever comes, the daemon's books hold, and
// what it keeps of the process is bounded.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>

#include "runtime/base/sealed_memory.h"
#include "runtime/store/file_directory.h"
#include "runtime/store/store.h"
#include "runtime/transport/tcp/tcp.h"
#include "server/isolation/isolated_session.h"
#include "server/util/log.h"
#include "support/process_records.h"
#include "support/records.h"

using namespace remotecl;
using namespace remotecl::fuzz;
using namespace remotecl::server;

namespace {

constexpr std::size_t kDevices = 2;
constexpr std::uint64_t kLimit = 10'000, kOfSession = 6'000;
const SharedLayout kLayout{MemoryQuota::counters(kDevices)};
const Address kClient{"192.0.2.7", 5};

void require(bool is_true) {
  if (!is_true) std::abort();
}

// What all inputs share.
struct Everything {
  static constexpr Store::Bounds kBounds{.directory = 1u << 20, .memory = 0};

  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(::getpid()));
  Store programs{std::make_unique<FileDirectory>(folder), kBounds};

  Everything() {
    set_log_level(LogLevel::kOff);
    auto directory = std::make_unique<FileDirectory>(folder);
    programs.add_uploads(std::make_unique<Store>(std::move(directory), kBounds, "", Store::Kind::kUploads));
  }
  ~Everything() { std::filesystem::remove_all(folder); }
};

Descriptor memory(bool is_sealed) {
  Descriptor made(is_sealed ? make_sealed_memory("fuzz", 100) : ::memfd_create("fuzz", MFD_CLOEXEC));
  require(made.valid() && ::pwrite(made.get(), "content", 7, 0) == 7);
  return made;
}

std::vector<Descriptor> descriptors_of(std::uint16_t kind) {
  std::vector<Descriptor> all;
  int ends[2] = {-1, -1};
  switch (static_cast<Passed>(kind % kPassedKinds)) {
    case kNothing:
      break;
    case kSealedMemory:
      all.push_back(memory(true));
      break;
    case kMemory:
      all.push_back(memory(false));
      break;
    case kPipe:
      require(::pipe2(ends, O_CLOEXEC) == 0);
      all.emplace_back(ends[0]);
      ::close(ends[1]);
      break;
    case kSocket:
      require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
      all.emplace_back(ends[0]);
      ::close(ends[1]);
      break;
    case kFolder:
      all.emplace_back(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      break;
    case kSeveral:
      all.push_back(memory(true));
      all.push_back(memory(false));
      break;
    default:
      break;
  }
  return all;
}

class ProcessUnderTest {
 public:
  explicit ProcessUnderTest(Everything& all) {
    auto ends = SessionChannel::make();
    process_.emplace(Descriptor(::fcntl(ends.second.descriptor(), F_DUPFD_CLOEXEC, 0)));
    auto child =
        std::make_unique<ChildProcess>(ProcessCommand{"/bin/sh", {"sh", "-c", "exec sleep 1000"}}, std::move(ends));
    auto share = std::make_unique<SessionShare>(user_, bounds());
    claims_ = make_ref<Counters>(kLayout.claims(), Descriptor(::fcntl(share->claims(), F_DUPFD_CLOEXEC, 0)),
                                 Counters::Writer::kThisProcess);
    session_.emplace(
        std::move(child), std::move(share), kClient, *make_ref<User>("user", Limits{}, kDevices),
        SessionLoad{1, std::vector<SessionLoad::OnDevice>(kDevices, SessionLoad::OnDevice{0, 1})}, [](bool) {}, [] {},
        nullptr, &all.programs, nullptr);
    begin();
  }
  ~ProcessUnderTest() {
    session_->kill();
    daemon_.join();
    look();
    session_.reset();
    for (std::size_t counter = 0; counter < kLayout.counters; ++counter) {
      require(user_->used(counter) == std::min((*others_)[counter].load(), kOfSession));
    }
  }

  void feed(const Record& record) {
    switch (record.code) {
      case kWriteClaims: {
        std::uint64_t value = 0;
        std::memcpy(&value, record.payload.data(), std::min(sizeof value, record.payload.size()));
        (*claims_)[record.channel % kLayout.claims()] = value;
        return;
      }
      case kQuestion:
        return session_->ask(++questions_, std::chrono::seconds(1));
      case kReadAnswers:
        while (process_->await(std::chrono::steady_clock::now()) && process_->receive()) {
        }
        return;
      case kSayReport:
        return say_report(record);
      default:
        send(record);
    }
  }

 private:
  static SessionShare::Bounds bounds() {
    return {{kLimit, kLimit, kLimit}, {kOfSession, kOfSession, kOfSession}, {1'000'000, 1'000'000}};
  }

  void begin() {
    int ends[2] = {-1, -1};
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const Descriptor client(ends[1]);
    auto connection = tcp::adopt(ends[0], TransportKind::kTcp);
    auto slot = pending_.enter(*connection, kClient);
    IncomingConnection incoming{std::move(connection), std::move(*slot), {}, kClient, {}};
    BeginMessage message{};
    message.connection = ConnectionFields::of(incoming);
    require(session_->begin(incoming, message));
    daemon_ = std::thread([this] { session_->run(); });
  }

  void say_report(const Record& record) {
    StatusReport report;
    report.devices.resize(kDevices);
    report.sessions.resize(2);
    report.sessions[0].session = 1;
    report.links.resize(1);
    report.users.push_back({"somebody", 1, 1, 1, 1, {}});
    std::vector<std::byte> bytes = encode(report);
    for (std::size_t i = 0; i < std::min(bytes.size(), record.payload.size()); ++i) bytes[i] ^= record.payload[i];
    const auto type = record.channel % 2 == 0 ? PacketType::kReport : PacketType::kEnded;
    process_->send(type, ReportMessage{questions_, bytes, "why"});
  }

  void send(const Record& record) {
    std::vector<std::byte> bytes(sizeof(std::uint32_t) + record.payload.size());
    const std::uint32_t type = record.code;
    std::memcpy(bytes.data(), &type, sizeof type);
    std::copy(record.payload.begin(), record.payload.end(), bytes.begin() + sizeof type);
    // What the daemon has to connect to would be other programs, and the look-up of a name would leave this machine.
    if (static_cast<PacketType>(type) == PacketType::kDial) return;
    const auto passed = descriptors_of(record.channel);
    std::array<char, CMSG_SPACE(2 * sizeof(int))> control{};
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!passed.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = CMSG_SPACE(passed.size() * sizeof(int));
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(passed.size() * sizeof(int));
      for (std::size_t i = 0; i < passed.size(); ++i) {
        const int number = passed[i].get();
        std::memcpy(CMSG_DATA(header) + i * sizeof number, &number, sizeof number);
      }
    }
    ::sendmsg(process_->descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  // What the daemon has made of it.
  void look() {
    const StatusReport report = session_->report(0, {});
    require(report.sessions.size() <= 1 && report.links.size() <= kClaimedLinksMax);
    require(report.devices.size() == kDevices && report.users.size() <= kDevices);
    for (const auto& each : report.sessions) require(each.session == 1 && each.user == "user");
    for (const auto& each : report.users) require(each.user == "user");
    require(report.totals.begun == 1 && report.totals.commands <= kClaimMax);
    require(session_->why_ended().size() <= 4 * kClaimedTextMax);
    for (std::size_t counter = 0; counter < kLayout.counters; ++counter) {
      require(user_->used(counter) <= 2 * kOfSession);
      // Another session has at least what this one may not have.
      (*others_)[counter] = kLimit - kOfSession;
      require(other_.claim({1, static_cast<std::uint32_t>(counter), false}));
      require((*allowed_)[counter].load() >= kLimit - kOfSession && (*allowed_)[counter].load() <= kOfSession);
    }
    for (const SessionLoad::OnDevice& load : session_->load().devices) require(load.queued_s >= 0);
  }

  Ref<UserShares> user_ = make_ref<UserShares>(kDevices);
  SessionShare other_{user_, bounds()};  // of another session of the user
  const Ref<Counters> others_ = make_ref<Counters>(
      kLayout.claims(), Descriptor(::fcntl(other_.claims(), F_DUPFD_CLOEXEC, 0)), Counters::Writer::kThisProcess);
  const Ref<Counters> allowed_ = make_ref<Counters>(
      kLayout.allowances(), Descriptor(::fcntl(other_.allowances(), F_DUPFD_CLOEXEC, 0)), Counters::Writer::kOther);
  PendingHandshakes pending_;
  std::optional<SessionChannel> process_;
  Ref<Counters> claims_;
  std::optional<IsolatedSession> session_;
  std::uint64_t questions_ = 0;
  std::thread daemon_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Everything all;
  constexpr std::size_t kRecordsMax = 64;
  auto records = parse_records(std::as_bytes(std::span(data, size)));
  if (records.size() > kRecordsMax) records.resize(kRecordsMax);
  ProcessUnderTest process(all);
  for (const Record& record : records) process.feed(record);
  return 0;
}
