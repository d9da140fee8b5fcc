#include "plugins/boundary/call.h"

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

AnswerMessage make_answer(std::uint64_t serial, const Outcome& outcome) {
  AnswerMessage answer{};
  answer.serial = serial;
  answer.code = outcome.code;
  const std::string why = printable_cause(outcome.why);
  std::memcpy(answer.why, why.data(), why.size());
  return answer;
}

std::optional<Outcome> read_answer(Bytes bytes, std::uint64_t serial) {
  AnswerMessage answer;
  if (bytes.size() != sizeof answer) return std::nullopt;
  std::memcpy(&answer, bytes.data(), sizeof answer);
  if (answer.serial != serial) return std::nullopt;
  Outcome outcome{answer.code, printable_cause({answer.why, ::strnlen(answer.why, sizeof answer.why)})};
  if (outcome.code > 0 || outcome.code < kLeastCode) outcome.code = kOutOfResources;
  if (!outcome.is_good() && outcome.why.empty()) outcome.why = "the plugin gives no cause";
  return outcome;
}

}  // namespace remotecl::plugins
