// Sinks of the device "remotecl streams": what becomes of them when a write fails.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "extras/streams/support/open_file.h"
#include "extras/streams/support/plugin_error.h"
#include "stream_program.h"

namespace remotecl::plugins {
namespace {

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string with_length(const std::string& frame) {
  const auto length = static_cast<std::uint32_t>(frame.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + frame;
}

// While it lives, this process's files cannot grow beyond so many bytes, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t size) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
};

TEST(Sink, AFileKeepsWholeFramesWhenTheDiskIsFull) {
  std::string folder = (std::filesystem::temp_directory_path() / "remotecl-sink-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  StreamProgram program({"write:" + folder});
  for (const char* const options : {"?lengths=1", "?lengths=1&append=1"}) {
    const std::string name = "file:" + folder + "/frames" + options;
    const std::string before = bytes_of(folder + "/frames");
    ASSERT_EQ(program.write(name, std::string(1000, 'a')), 0) << program.why();
    {
      const FullDisk full(before.size() + 1500);
      EXPECT_EQ(program.write(name, std::string(1000, 'b')), kGone);
      EXPECT_NE(program.why().find("File too large"), std::string::npos) << program.why();
    }
    ASSERT_EQ(program.write(name, std::string(1000, 'c')), 0) << program.why();
    const std::string wanted = with_length(std::string(1000, 'a')) + with_length(std::string(1000, 'c'));
    EXPECT_EQ(bytes_of(folder + "/frames"), name.ends_with("append=1") ? before + wanted : wanted) << options;
  }
  std::filesystem::remove_all(folder);
}

// What a sink connects to.
class Peer {
 public:
  Peer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size);
    ::listen(listener_.get(), 4);
    const timeval patience{10, 0};  // for whoever does not connect
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  std::string name() const { return "tcp:127.0.0.1:" + std::to_string(port_); }
  File accept() { return File(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  File listener_;
  unsigned port_ = 0;
};

TEST(Sink, AConnectionThatTakesHalfAFrameIsMadeAnew) {
  Peer peer;
  StreamProgram program({"connect:127.0.0.1"});
  const std::string name = peer.name() + "?lengths=1&wait=20";
  ASSERT_EQ(program.write(name, "first"), 0) << program.why();
  const File silent = peer.accept();
  EXPECT_EQ(program.write(name, std::string(64u << 20, 'x')), kGone);
  ASSERT_EQ(program.write(name, "second"), 0) << program.why();
  const File next = peer.accept();
  std::string got(with_length("second").size(), '\0');
  EXPECT_EQ(::recv(next.get(), got.data(), got.size(), MSG_WAITALL), static_cast<ssize_t>(got.size()));
  EXPECT_EQ(got, with_length("second"));
}

TEST(Sink, AConnectionThatEndedIsMadeAnew) {
  Peer peer;
  StreamProgram program({"connect:127.0.0.1"});
  const std::string name = peer.name() + "?lengths=1";
  ASSERT_EQ(program.write(name, "first"), 0) << program.why();
  {
    const File connection = peer.accept();
    const linger reset{1, 0};
    ::setsockopt(connection.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  EXPECT_EQ(program.write(name, "lost"), kGone);
  EXPECT_EQ(program.write(name, "second"), 0) << program.why();
}

}  // namespace
}  // namespace remotecl::plugins
