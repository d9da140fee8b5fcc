#include "server/isolation/process_words.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "server/util/log.h"

namespace remotecl::server {
namespace {

// Other processes that a session has started may hold the pipe open and write on, so only so much is taken at the end.
constexpr int kLastPiecesMax = 64;

}  // namespace

ProcessWords::ProcessWords() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category(), "pipe");
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
}

void ProcessWords::has_started(pid_t process) {
  process_ = process;
  write_end_.close();
}

bool ProcessWords::take() {
  std::array<char, 16384> piece;
  const ssize_t size = read_end_.valid() ? ::read(read_end_.get(), piece.data(), piece.size()) : -1;
  if (size > 0) {
    add({piece.data(), static_cast<std::size_t>(size)});
    return true;
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) read_end_.close();
  return false;
}

void ProcessWords::finish() {
  for (int pieces = 0; pieces < kLastPiecesMax && take(); ++pieces) {
  }
  if (!line_.empty()) write_line();
  if (const std::uint64_t omitted = lines_.omitted(); omitted != 0) {
    log_warning("its process {} wrote {} lines more, which are left out", process_, omitted);
  }
  read_end_.close();
}

void ProcessWords::add(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const std::string_view part = piece.substr(0, end);
    const std::string_view kept = part.substr(0, kLineMax - line_.size());
    line_ += kept;
    is_cut_ = is_cut_ || kept.size() != part.size();
    if (end == std::string_view::npos) return;
    if (!line_.empty()) write_line();
    piece.remove_prefix(end + 1);
  }
}

void ProcessWords::write_line() {
  if (const auto omitted = lines_.pass()) {
    if (*omitted != 0) log_warning("its process {} wrote {} lines more, which are left out", process_, *omitted);
    std::string_view words = line_;
    const LogLevel level = take_log_level(words);
    write_log(level, "its process {}: {}{}", {process_, words, is_cut_ ? " ... (a longer line)" : ""});
  }
  line_.clear();
  is_cut_ = false;
}

}  // namespace remotecl::server
