#include "extras/streams/boundary/call.h"

#include <algorithm>
#include <cstring>

namespace remotecl::plugins {
namespace {

constexpr std::int32_t kLeastCode = -9999;  // of all vendors' errors

}  // namespace

std::string printable_cause(std::string_view text) {
  std::string line(text.substr(0, REMOTECL_PLUGIN_WHY_MAX));
  std::replace_if(
      line.begin(), line.end(), [](char each) { return each < ' ' || each > '~'; }, '?');
  return line;
}

ReplyMessage make_reply(std::uint64_t serial, const Outcome& outcome) {
  ReplyMessage reply{};
  reply.serial = serial;
  reply.code = outcome.code;
  const std::string why = printable_cause(outcome.why);
  std::memcpy(reply.why, why.data(), why.size());
  return reply;
}

std::optional<Outcome> read_reply(Bytes bytes, std::uint64_t serial) {
  ReplyMessage reply;
  if (bytes.size() != sizeof reply) return std::nullopt;
  std::memcpy(&reply, bytes.data(), sizeof reply);
  if (reply.serial != serial) return std::nullopt;
  Outcome outcome{reply.code, printable_cause({reply.why, ::strnlen(reply.why, sizeof reply.why)})};
  if (outcome.code > 0 || outcome.code < kLeastCode) outcome.code = kOutOfResources;
  if (!outcome.is_good() && outcome.why.empty()) outcome.why = "the plugin gives no cause";
  return outcome;
}

}  // namespace remotecl::plugins
