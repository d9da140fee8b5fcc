#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "fakes/wire/wire_server.h"
#include "runtime/client/session/session.h"

namespace remotecl::testing {

// A session with several bulk channels. The test plays its server.
class ChannelTest : public ::testing::Test {
 protected:
  explicit ChannelTest(unsigned channels) {
    ::setenv("REMOTECL_LOG", "off", 1);  // the losses are meant
    ::setenv("REMOTECL_BULK_CHANNELS", std::to_string(channels).c_str(), 1);
    server_.welcome_channels(channels);
    session_ = std::make_unique<Session>(group_, ServerName{server_.address(), {}}, 0);
    server_.ready();
  }
  ~ChannelTest() override { ::unsetenv("REMOTECL_BULK_CHANNELS"); }

  Connection& channel(std::size_t index) { return *server_.channels[index]; }
  // Sends the header of a chunk of `size` bytes, and the first of these bytes.
  void begin_chunk(std::size_t on, TransferId transfer, std::uint64_t size, Bytes bytes = {}) {
    const BulkHeader header{transfer, static_cast<std::uint32_t>(size), 0};
    channel(on).write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>(header)), bytes);
  }
  void send_chunk(std::size_t on, TransferId transfer, Bytes bytes) { begin_chunk(on, transfer, bytes.size(), bytes); }
  void send_failure(std::size_t on, TransferId transfer, std::int32_t status) {
    channel(on).write(Bytes(encode_frame<BulkHeader, kBulkHeaderSize>({transfer, 0, status})));
  }

  // A transfer's callback.
  auto note_end() {
    return [this](cl_int status) {
      status_ = status;
      ++ended_;
      ended_.notify_all();
    };
  }
  // Waits until transfers have ended `wanted` times. After a loss, the thread that has noticed it ends them.
  int ended(int wanted) {
    for (int seen = ended_; seen < wanted; seen = ended_) ended_.wait(seen);
    return ended_;
  }
  template <class... Transfers>
  bool await(const Transfers&... transfers) {
    return session_->wait([&] { return (transfers->ended() && ...); });
  }
  bool becomes_lost() {
    session_->wait([] { return false; });
    return session_->lost();
  }

  std::atomic<int> ended_{0};
  std::atomic<cl_int> status_{1};  // of the last end
  WireServer server_;
  SessionGroup group_;
  std::unique_ptr<Session> session_;
};

}  // namespace remotecl::testing
