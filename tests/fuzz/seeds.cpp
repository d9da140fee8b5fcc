// Writes the inputs that fuzzing starts from: sessions in which all goes well, one for each noun.
// Usage: remotecl_fuzz_seeds CORPUS_FOLDER
#include <CL/cl.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "seeds.h"

using namespace remotecl;
using namespace remotecl::fuzz;

namespace {

void write(const std::filesystem::path& path, Bytes bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// A stream of messages, whose first byte says how it is cut.
void write_stream(const std::filesystem::path& path, const Script& script) {
  std::vector<std::byte> stream{std::byte{0}};
  for (const Record& record : script.records()) {
    if (record.channel != kControl && record.channel != kPeerControl) continue;
    const auto bytes = serialize({{record.code, 0, record.payload}});
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }
  write(path, stream);
}

void write_session(const std::filesystem::path& corpus, const std::string& name, const Script& script) {
  write(corpus / "server_session" / name, serialize(script.records()));
  write_stream(corpus / "server_decoder" / name, script);
}

// One of each message that servers send.
void write_reports(const std::filesystem::path& corpus) {
  const std::uint32_t number = 7;
  const std::uint64_t bytes = 4096;
  const InfoValue info[] = {{CL_DEVICE_TYPE, data(8)}, {CL_DEVICE_NAME, as_bytes("name")}};
  const DeviceDescription devices[] = {{0, std::span<const InfoValue>(info), std::span<const InfoValue>(info)},
                                       {1, {}, std::span<const InfoValue>(info)}};
  const ArgumentDescription arguments[] = {{ArgumentKind::kMemory, 8, 0, 1, 2, 3, "int*", "a"}};
  const KernelDescription kernels[] = {
      {"k", "", 64, {0, 0, 0}, 0, 8, 0, std::span<const ArgumentDescription>(arguments)}};
  const DeviceBuild builds[] = {{0, 0, 0, 1, 4, 0, 0, 0, "log", std::span<const KernelDescription>(kernels)}};
  const DeviceStatus device_status[] = {{0, "name", 1, 2, 3, 4, 5, 6}};
  const std::span<const std::uint64_t> of_device(&bytes, 1);
  const SessionStatus sessions[] = {{1, 2, "address", "host", "program", "user", 3, 4, 5, 6, {}, of_device, of_device}};
  const LinkStatus links[] = {{1, 2, "address", 1, {}}};
  const LoadOfDevice loads[] = {{0, 1500, 1000}, {1, 0, 0}};
  Script script;
  script.add(DeviceList{std::span<const DeviceDescription>(devices)})
      .add(SubDevices{1, 0, 2, std::span<const DeviceDescription>(devices)})
      .add(BuildDone{2, std::span<const DeviceBuild>(builds)})
      .add(Status{3,
                  "version",
                  "host",
                  1,
                  2,
                  3,
                  4,
                  {},
                  {},
                  std::span<const DeviceStatus>(device_status),
                  std::span<const SessionStatus>(sessions),
                  std::span<const LinkStatus>(links)})
      .add(ImageFormats{4, 0, std::span<const std::uint32_t>(&number, 1)})
      .add(Pong{5})
      .add(ProgramBinary{6, 0, data(16)})
      .add(NativeAnswer{7, 0, 8, data(8)})
      .add(Finished{8})
      .add(EventDone{9, 0, 1, {1, 2, 3, 4}})
      .add(CommandFailed{1, 2, -5, 3})
      .add(ReadData{10, data(64)})
      .add(TransferSize{11, 4096})
      .add(PullTransfer{12})
      .add(PushesTaken{0, 512})
      .add(SvmAllocated{13, 0, 1u << 20})
      .add(NetworkCreated{18, 0, 1u << 20, "why"})
      .add(KernelOutput{as_bytes("printed")})
      .add(Clock{14, 0, 1000})
      .add(CommandBufferState{15, 1})
      .add(CommandTraced{16, 0, 1, 1, 2, 3, 4, 5, 1})
      .add(PeerState{1, 2, 0, "why"})
      .add(ServerReceived{StreamKind::kBulk, 0, 17})
      .add(SignalUndelivered{1, 2, 0})
      .add(DeviceLoads{std::span<const LoadOfDevice>(loads)})
      .add(SessionError{"why"});
  write_stream(corpus / "client_decoder" / "all", script);
  for (const Record& record : script.records()) {
    Script one;
    one.add_record(record);
    write_stream(corpus / "client_decoder" / std::string(message_name(record.code)), one);
  }
}

// What a handshake's input begins with: see handshake_fuzz.cpp.
void write_handshake(const std::filesystem::path& corpus, const std::string& name, std::array<std::uint8_t, 4> head,
                     std::initializer_list<Bytes> words) {
  std::vector<std::byte> bytes(16);
  std::memcpy(bytes.data(), head.data(), head.size());
  bytes[8] = std::byte{1};  // the epoch
  for (const Bytes& part : words) bytes.insert(bytes.end(), part.begin(), part.end());
  write(corpus / "handshake" / name, bytes);
}

void write_handshakes(const std::filesystem::path& corpus) {
  for (std::uint32_t role = 0; role < 6; ++role) {
    const auto hello = encode_frame<Hello, kHelloSize>(
        {kMagic, kProtocolVersion, static_cast<Role>(role), kFeatureToken, 0, Secret{5}});
    const std::string suffix = std::to_string(role);
    write_handshake(corpus, "stranger-" + suffix, {0, 0, 0, 0}, {hello});
    write_handshake(corpus, "stranger-with-token-" + suffix, {0, 1, 0, 1}, {hello});
    write_handshake(corpus, "stranger-with-wrong-token-" + suffix, {0, 1, 7, 1}, {hello});
  }
  const std::string_view text = "come back later";
  Welcome welcome{kMagic, kProtocolVersion, WelcomeStatus::kAccepted, 0, 1, Secret{6}, 1, 0, 0};
  const auto accepted = encode_frame<Welcome, kWelcomeSize>(welcome);
  welcome.features = kFeatureToken;
  const auto accepted_with_token = encode_frame<Welcome, kWelcomeSize>(welcome);
  welcome.status = WelcomeStatus::kProve;
  const auto challenge = encode_frame<Welcome, kWelcomeSize>(welcome);
  welcome.status = WelcomeStatus::kBusy;
  welcome.text_size = static_cast<std::uint32_t>(text.size());
  const auto busy = encode_frame<Welcome, kWelcomeSize>(welcome);
  write_handshake(corpus, "server", {1, 0, 0, 0}, {accepted});
  write_handshake(corpus, "server-with-token", {1, 1, 0, 1}, {challenge, accepted_with_token});
  write_handshake(corpus, "server-with-wrong-token", {1, 1, 7, 1}, {challenge, accepted_with_token});
  write_handshake(corpus, "busy-server", {1, 0, 0, 0}, {busy, as_bytes(text)});
  write_handshake(corpus, "session", {2, 1, 0, 0}, {accepted});
  write_handshake(corpus, "busy-session", {2, 0, 0, 0}, {busy, as_bytes(text)});
}

// Steps of both sides, as shared_memory_fuzz has them.
void write_shared_memory(const std::filesystem::path& corpus) {
  const auto seed = [&corpus](const std::string& name, const std::vector<unsigned>& values) {
    std::vector<std::byte> bytes;
    for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
    write(corpus / "shared_memory" / name, bytes);
  };
  seed("offer", {0, 1, 0, 0, 0, 3, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7});
  seed("honest-offer", {1});
  seed("wrong-magic", {1, 1});
  seed("wrong-cookie", {1, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  seed("answered-before", {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  // 100 bytes come, 100 are read; 100 are written, and taken.
  seed("there-and-back", {2, 7, 0, 100, 0, 9, 200, 0, 11, 100, 0, 1, 0, 0, 11, 50, 0, 9, 1, 0});
  seed("full-ring", {2, 11, 0, 16, 11, 1, 0, 1, 0, 0, 11, 0, 8, 0, 0, 16, 9, 0, 32});
  seed("impossible-written", {2, 0, 1, 16, 9, 10, 0, 9, 10, 0});
  seed("impossible-taken", {2, 11, 10, 0, 1, 1, 0, 11, 0, 16, 11, 1, 0});
  seed("any-index", {2, 0, 255, 255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0});
  seed("ended", {2, 0, 10, 0, 6, 255, 9, 5, 0, 9, 50, 0, 9, 1, 0});
  seed("hung-up", {2, 8, 255, 9, 5, 0, 11, 5, 0});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const std::filesystem::path corpus(argv[1]);
  for (const auto& [name, script] : session_seeds()) write_session(corpus, name, script);
  for (const auto& [name, records] : process_seeds()) write(corpus / "session_process" / name, serialize(records));
  write_handshakes(corpus);
  write_shared_memory(corpus);
  write_reports(corpus);
  // The client's programs, with right answers only.
  for (std::uint16_t program = 0; program < 10; ++program) {
    write(corpus / "client_session" / ("honest-" + std::to_string(program)),
          serialize({{program, 0, {}}, {999, kHonest, {}}}));
  }
  // Reads that end, as the server says, in the midst of a chunk of theirs.
  const auto short_reads = [](const auto& end) {
    std::vector<Record> said{{2, 0, {}}, chunk_record({0, 2000, 0}, std::vector<std::byte>(1000))};
    said.push_back(record_of(end, kControlUnawaited));
    said.push_back({0, kBulk, std::vector<std::byte>(1000, std::byte{0x5a})});
    said.push_back(record_of(EventDone{}));
    said.push_back({999, kHonest, {}});
    return serialize(said);
  };
  write(corpus / "client_session" / "short-within-chunk", short_reads(TransferSize{0, 1000}));
  write(corpus / "client_session" / "shorter-within-chunk", short_reads(TransferSize{0, 500}));
  write(corpus / "client_session" / "read-data-within-chunk", short_reads(ReadData{0, data(100)}));
  return 0;
}
