#include "server/handshake.h"

#include <sys/random.h>

#include <array>
#include <chrono>
#include <system_error>

namespace remotecl::server {
namespace {

using Clock = std::chrono::steady_clock;

void answer(Connection& connection, Welcome welcome, std::string_view text) {
  welcome.magic = kMagic;
  welcome.version = kProtocolVersion;
  text = text.substr(0, kWelcomeTextMax);
  welcome.text_size = static_cast<std::uint32_t>(text.size());
  ByteBuffer bytes;
  bytes.append(encode_frame<Welcome, kWelcomeSize>(welcome));
  bytes.append(as_bytes(text));
  // Little enough for any socket buffer: no peer can make this block.
  connection.try_write(bytes.bytes());
}

}  // namespace

std::optional<Hello> read_hello(Connection& connection) {
  std::array<std::byte, kHelloSize> bytes;
  const auto end = Clock::now() + std::chrono::milliseconds(kHandshakeTimeoutMs);
  for (std::size_t have = 0; have < bytes.size();) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return std::nullopt;
    connection.set_read_timeout(left);
    const std::size_t count = connection.read_some(MutableBytes(bytes).subspan(have));
    if (count == 0) return std::nullopt;
    have += count;
    // A peer that speaks something else is recognised by its first bytes, however few it sends.
    const std::size_t checked = std::min(have, kMagic.size());
    if (std::memcmp(bytes.data(), kMagic.data(), checked) != 0) return std::nullopt;
  }
  connection.set_read_timeout(std::chrono::milliseconds(0));
  return decode_frame<Hello>(bytes);
}

void accept(Connection& connection, std::uint64_t epoch, std::uint64_t session, const Secret& secret,
            std::uint64_t features) {
  Welcome welcome{};
  welcome.features = features;
  welcome.status = WelcomeStatus::kAccepted;
  welcome.epoch = epoch;
  welcome.session = session;
  welcome.secret = secret;
  answer(connection, welcome, {});
}

void refuse(Connection& connection, std::uint64_t epoch, WelcomeStatus status, std::string_view text) {
  Welcome welcome{};
  welcome.status = status;
  welcome.epoch = epoch;
  answer(connection, welcome, text);
}

std::string version_mismatch_text(std::uint32_t client_version) {
  return "the client speaks protocol version " + std::to_string(client_version) + ", this server (remotecl " +
         REMOTECL_VERSION + ") version " + std::to_string(kProtocolVersion) +
         "; install the same remotecl release on both machines";
}

bool same_secret(const Secret& left, const Secret& right) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < left.size(); ++i) difference |= static_cast<unsigned>(left[i] ^ right[i]);
  return difference == 0;
}

void fill_random(MutableBytes bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::getrandom(bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw std::system_error(errno, std::generic_category(), "getrandom");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

}  // namespace remotecl::server
