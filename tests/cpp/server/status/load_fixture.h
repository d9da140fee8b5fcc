// What tests of the devices' load need: sessions that work, and sessions that watch.
#pragma once

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "fakes/wire/wire_client.h"

namespace remotecl::testing {

// A session with commands that wait until end().
class HeldWork {
 public:
  explicit HeldWork(const Address& address) : client_(address) {
    queue_ = client_.make_queue();
    buffer_ = client_.make_buffer(64);
    client_.write<int>(queue_, buffer_, std::vector<int>(16, 0));
    client_.finish(queue_);
  }
  // Adds to the work.
  void begin(int commands) {
    if (user_ == 0) client_.add(ExpectEvent{user_ = client_.id()});
    for (int i = 0; i < commands; ++i) client_.write<int>(queue_, buffer_, std::vector<int>(1, i), 0, {{user_}});
    client_.ping();
  }
  void end() {
    client_.add(SignalEvent{std::exchange(user_, 0), CL_COMPLETE});
    client_.flush();
  }
  void finish() { client_.finish(queue_); }
  WireClient& client() { return client_; }

 private:
  WireClient client_;
  ObjectId queue_ = 0, buffer_ = 0;
  EventId user_ = 0;
};

// The next report on the first device; throws if there is none for long.
inline LoadOfDevice next_load(WireClient& client) {
  LoadOfDevice found{std::numeric_limits<std::uint32_t>::max(), 0, 0};
  client.wait<DeviceLoads>()->devices.for_each([&found](const LoadOfDevice& load) { found = load; });
  EXPECT_EQ(found.index, 0u);
  return found;
}

// A session that watches. It has the first report, so from now on everything that it gets is news.
class Watching {
 public:
  explicit Watching(const Address& address) : client_(address) {
    client_.send(WatchLoads{1});
    next();
  }
  LoadOfDevice next() { return next_load(client_); }
  // The first one that says this.
  LoadOfDevice next_with(const std::function<bool(const LoadOfDevice&)>& wanted) {
    for (;;) {
      if (const LoadOfDevice load = next(); wanted(load)) return load;
    }
  }
  WireClient& client() { return client_; }

 private:
  WireClient client_;
};

inline bool is_zero(const LoadOfDevice& load) { return load.queued_us == 0 && load.weight_thousandths == 0; }
inline bool is_some(const LoadOfDevice& load) { return load.queued_us != 0 && load.weight_thousandths != 0; }

}  // namespace remotecl::testing
