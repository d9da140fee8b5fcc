#include "server/program/printf_search.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>

namespace remotecl::server {
namespace {

constexpr std::string_view kForbids = "#pragma GCC poison printf\n";

bool is_of_a_name(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0; }

// Returns true if a name continues on the next line.
bool splits_a_name(std::string_view code) {
  for (std::size_t at = code.find('\\'); at != std::string_view::npos; at = code.find('\\', at + 1)) {
    const std::size_t end = code.find_first_not_of(" \t\v\f\r", at + 1);
    if (end == std::string_view::npos || code[end] != '\n') continue;
    // Several line breaks in a row may be between its halves.
    if (at == 0 || end + 1 == code.size()) continue;
    const char before = code[at - 1], after = code[end + 1];
    if ((is_of_a_name(before) || before == '\n') && (is_of_a_name(after) || after == '\\')) return true;
  }
  return false;
}

// Returns true if a preprocessor may make the name out of this text, by joining tokens or lines.
bool may_hide_printf(std::string_view code) {
  // ## can also be written as %:%:, and with trigraphs, which can also stand for a backslash.
  for (const std::string_view word : {"##", "%:%:", "\?\?=", "\?\?/"}) {
    if (code.find(word) != std::string_view::npos) return true;
  }
  return splits_a_name(code);
}

// Returns true if comments or quoted text may begin or end where end_of_comment_or_text() does not see it.
bool hides_comments(std::string_view source) {
  if (source.find("/\\") != std::string_view::npos) return true;
  for (std::size_t at = source.find('\\'); at != std::string_view::npos; at = source.find('\\', at + 1)) {
    const std::size_t end = source.find_first_not_of(" \t\v\f\r", at + 1);
    if (end != std::string_view::npos && end != at + 1 && source[end] == '\n') return true;
  }
  return false;
}

// The end of the comment or quoted text that begins at `at`; `at` if none does. Quoted text ends with its line.
std::size_t end_of_comment_or_text(std::string_view source, std::size_t at) {
  const auto behind = [&](std::string_view end, std::size_t from) {
    const std::size_t found = source.find(end, from);
    return found == std::string_view::npos ? source.size() : found + end.size();
  };
  if (source.substr(at).starts_with("//")) return behind("\n", at);
  if (source.substr(at).starts_with("/*")) return behind("*/", at + 2);
  if (source[at] != '"' && source[at] != '\'') return at;
  std::size_t end = at + 1;
  while (end < source.size() && source[end] != source[at] && source[end] != '\n') end += source[end] == '\\' ? 2 : 1;
  return std::min(end + 1, source.size());
}

bool compiles(cl_context context, cl_device_id device, std::string_view source, const std::string& options,
              const std::vector<cl_program>& headers, std::vector<const char*> names) {
  cl_int error = CL_SUCCESS;
  const char* text = source.data();
  const std::size_t size = source.size();
  const cl_program program = clCreateProgramWithSource(context, 1, &text, &size, &error);
  if (error != CL_SUCCESS) return false;
  error = clCompileProgram(program, 1, &device, options.c_str(), static_cast<cl_uint>(headers.size()),
                           headers.empty() ? nullptr : headers.data(), headers.empty() ? nullptr : names.data(),
                           nullptr, nullptr);
  clReleaseProgram(program);
  return error == CL_SUCCESS;
}

}  // namespace

bool mentions_printf(std::string_view code) {
  // PoCL's binaries contain these names whatever their kernels do.
  constexpr std::string_view kAlwaysAfter = "printf_buffer";
  constexpr std::string_view kAlwaysBefore = "__const.__pocl_";
  for (std::size_t at = code.find("printf"); at != std::string_view::npos; at = code.find("printf", at + 1)) {
    if (!code.substr(at).starts_with(kAlwaysAfter) && !code.substr(0, at).ends_with(kAlwaysBefore)) return true;
  }
  return false;
}

bool source_may_print(std::string_view source) {
  if (may_hide_printf(source)) return true;
  if (source.find("printf") == std::string_view::npos) return false;
  if (hides_comments(source)) return true;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t next = end_of_comment_or_text(source, at);
    if (next == at && source.substr(at).starts_with("printf")) return true;
    at = std::max(next, at + 1);
  }
  return false;
}

bool spirv_may_print(std::string_view module) {
  constexpr std::uint32_t kMagic = 0x07230203, kExtendedInstruction = 12, kPrintf = 184;
  constexpr std::size_t kHeaderWords = 5;
  std::vector<std::uint32_t> words(module.size() / sizeof(std::uint32_t));
  if (words.size() < kHeaderWords) return true;
  std::memcpy(words.data(), module.data(), words.size() * sizeof(std::uint32_t));
  if (words[0] != kMagic) return true;  // in the other byte order, or no SPIR-V
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::uint32_t count = words[at] >> 16, code = words[at] & 0xFFFF;
    if (count == 0 || count > words.size() - at) return true;
    // Words: the result's type, the result, the set, the instruction.
    if (code == kExtendedInstruction && count > 4 && words[at + 4] == kPrintf) return true;
    at += count;
  }
  return mentions_printf(module);
}

bool compiler_finds_printf(Device& device, std::string_view source, const std::string& options,
                           const std::vector<cl_program>& headers, const std::vector<const char*>& names) {
  cl_int error = CL_SUCCESS;
  const cl_context context = device.context(error);
  if (context == nullptr) return true;
  const auto compiles_forbidden = [&](std::string_view text) {
    return compiles(context, device.id(), std::string(kForbids) + std::string(text), options, headers, names);
  };
  if (!compiles_forbidden(source)) return true;
  // The compiler may ignore the pragma. This text shows whether it does.
  return compiles_forbidden("#define PASTE(a, b) a##b\nkernel void k() { PASTE(pri, ntf)(\"\"); }\n");
}

}  // namespace remotecl::server
