// Where frames go: files, folders, connections, datagrams.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "extras/streams/basic/sources.h"
#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"
#include "extras/streams/support/socket.h"

namespace remotecl::plugins {
namespace {

void write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(file, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw PluginError(kGone, std::string("writing the file: ") + std::strerror(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

std::vector<std::byte> with_length(std::span<const std::byte> frame) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  std::vector<std::byte> all(sizeof length + frame.size());
  std::memcpy(all.data(), &length, sizeof length);
  if (!frame.empty()) std::memcpy(all.data() + sizeof length, frame.data(), frame.size());
  return all;
}

class FileSink final : public Sink {
 public:
  FileSink(const StreamName& name, const Rules& rules)
      : has_lengths_(name.is_on("lengths")),
        file_(
            open_allowed(rules, "write", name.place(),
                         O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | (name.is_on("append") ? O_APPEND : O_TRUNC))) {}
  void write(std::span<const std::byte> frame) override {
    const off_t begin = ::lseek(file_.get(), 0, SEEK_END);
    try {
      if (has_lengths_) return write_all(file_.get(), with_length(frame));
      write_all(file_.get(), frame);
    } catch (const PluginError&) {
      // The disk may be full. Removes the part of the frame, so that readers find whole frames; pipes take nothing
      // back.
      is_lost_ = begin < 0 || ::ftruncate(file_.get(), begin) != 0 || ::lseek(file_.get(), begin, SEEK_SET) != begin;
      throw;
    }
  }
  bool is_lost() const override { return is_lost_; }

 private:
  const bool has_lengths_;
  const File file_;
  bool is_lost_ = false;
};

class FolderSink final : public Sink {
 public:
  FolderSink(const StreamName& name, const Rules& rules)
      : suffix_(name.word("suffix", "bin")),
        folder_(open_allowed(rules, "write", name.place(), O_RDONLY | O_DIRECTORY)) {
    if (suffix_.empty() || suffix_.find('/') != std::string::npos)
      throw PluginError(kWrongName, "suffix= is no suffix");
  }
  void write(std::span<const std::byte> frame) override {
    char number[16];
    std::snprintf(number, sizeof number, "%08llu.", static_cast<unsigned long long>(count_));
    const std::string name = number + suffix_;
    const File file(::openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (file.get() < 0) throw PluginError(kGone, name + ": " + std::strerror(errno));
    write_all(file.get(), frame);
    ++count_;
  }

 private:
  const std::string suffix_;
  const File folder_;
  std::uint64_t count_ = 0;
};

class SocketSink final : public Sink {
 public:
  SocketSink(const StreamName& name, const Rules& rules)
      : is_stream_(name.scheme() == "tcp"),
        has_lengths_(name.is_on("lengths")),
        patience_(name.patience()),
        socket_(connect_socket(rules, name.place(), is_stream_ ? SOCK_STREAM : SOCK_DGRAM, patience_)) {}

  void write(std::span<const std::byte> frame) override {
    if (is_stream_ && has_lengths_) return send_all(with_length(frame));
    send_all(frame);
  }
  bool is_lost() const override { return is_lost_; }

 private:
  void send_all(std::span<const std::byte> bytes) {
    const std::size_t whole = bytes.size();
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (wait_for_socket(socket_.get(), POLLOUT, patience_)) continue;
        is_lost_ = bytes.size() != whole;  // what follows would be taken for the rest of this frame
        throw PluginError(kGone, "the other side takes nothing (wait=)");
      } else if (errno != EINTR) {
        const int error = errno;
        is_lost_ = is_stream_;
        throw PluginError(kGone, std::string("sending: ") + std::strerror(error));
      }
    }
  }

  const bool is_stream_, has_lengths_;
  const std::chrono::milliseconds patience_;
  const File socket_;
  bool is_lost_ = false;
};

}  // namespace

std::unique_ptr<Sink> open_sink(const StreamName& name, const Rules& rules) {
  const std::string& scheme = name.scheme();
  if (scheme == "file") return name.allow_keys({"lengths", "append"}), std::make_unique<FileSink>(name, rules);
  if (scheme == "dir") return name.allow_keys({"suffix"}), std::make_unique<FolderSink>(name, rules);
  if (scheme == "tcp" || scheme == "udp") {
    return name.allow_keys({"lengths", "wait"}), std::make_unique<SocketSink>(name, rules);
  }
  throw PluginError(kWrongName, "\"" + name.text() + "\" is no sink: write file:, dir:, tcp: or udp:");
}

}  // namespace remotecl::plugins
