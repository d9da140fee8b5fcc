#include "runtime/handshake/reconnector.h"

#include <algorithm>
#include <random>
#include <string_view>
#include <system_error>

#include "runtime/base/settings.h"

namespace remotecl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kDefaultWindow{30'000};
constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{2000};
// A connection that lasted this long did work, even if nothing came through: a doorbell's or an idle device's
// may carry no bytes.
constexpr std::chrono::milliseconds kLastsMin{100};
// Shorter losses are not reported: by then the connection is back, or it is known that the server itself has
// ended.
constexpr std::chrono::milliseconds kNewsAfter{500};

std::string seconds_text(std::chrono::milliseconds time) {
  const auto tenths = time.count() / 100;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10)) + " s";
}

}  // namespace

std::chrono::milliseconds reconnect_window() {
  const auto seconds = settings::seconds("REMOTECL_RECONNECT", 0, 86'400);
  return seconds ? std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * 1000)) : kDefaultWindow;
}

Reconnector::Reconnector(Address address, Invitation invitation, std::chrono::milliseconds window,
                         std::chrono::milliseconds connect_timeout, Joiner join, News news)
    : address_(std::move(address)),
      invitation_(invitation),
      window_(window),
      connect_timeout_(connect_timeout),
      join_(std::move(join)),
      news_(std::move(news)),
      pause_(kFirstPause),
      vain_pause_(kFirstPause) {}

void Reconnector::add(ResumableConnection& stream, Role role, unsigned channel, std::uint64_t features) {
  MutexLock lock(thread_.mutex);
  streams_.push_back({&stream, role, features | features_of_channel(channel)});
}

void Reconnector::broken() {
  MutexLock lock(thread_.mutex);
  ++breaks_;
  thread_.wake();
  try {
    thread_.start();
  } catch (const std::system_error&) {
    // Without a thread, the stream's reader ends it when the window has passed.
  }
}

void Reconnector::stop() {
  thread_.request_stop();
  stopping_.request_stop();
  thread_.stop();
}

std::string Reconnector::reason() const {
  MutexLock lock(thread_.mutex);
  return reason_;
}

std::vector<Reconnector::Stream> Reconnector::broken_streams() {
  std::vector<Stream> streams;
  {
    MutexLock lock(thread_.mutex);
    streams = streams_;
  }
  std::erase_if(streams, [](const Stream& stream) { return !stream.connection->broken(); });
  return streams;
}

void Reconnector::run() {
  bool is_news = false;  // the loss was reported to the user
  for (std::uint64_t seen = 0;;) {
    {
      MutexLock lock(thread_.mutex);
      while (!thread_.is_stopping() && breaks_ == seen) thread_.wait();
      if (thread_.is_stopping()) return;
      seen = breaks_;
    }
    if (!resume_streams(is_news)) return;
  }
}

bool Reconnector::resume_streams(bool& is_news) {
  bool carried_on = false;  // false if they ended meanwhile
  for (auto streams = broken_streams(); !streams.empty(); streams = broken_streams()) {
    Clock::time_point since = Clock::time_point::max();
    for (const Stream& stream : streams) since = std::min(since, stream.connection->broken_since());
    // This pause leaves most of the window for the attempts after it.
    if (is_in_vain(streams) && !rest(vain_pause_, since + window_ / 4)) return false;
    std::string failure;
    try {
      for (const Stream& stream : streams) {
        failure = carry_on(stream, end_of_attempt(since));
        if (!failure.empty()) break;
      }
    } catch (const StreamGone& gone) {
      give_up(gone.what());
      return false;
    }
    carried_on = failure.empty();
    if (carried_on) {
      pause_ = kFirstPause;
      if (!is_in_vain(streams)) vain_pause_ = kFirstPause;
      continue;
    }
    if (Clock::now() - since >= window_) {
      give_up("it could not be reached again within " + seconds_text(window_) + ": " + failure);
      return false;
    }
    if (!is_news && Clock::now() - since >= std::min(kNewsAfter, window_ / 4)) {
      is_news = true;
      news_("the connection to " + address_.text() + " is lost; trying to connect again for " + seconds_text(window_) +
            " (" + failure + ")");
    }
    if (!rest(pause_, since + window_)) return false;
  }
  if (std::exchange(is_news, false) && carried_on) news_("connected to " + address_.text() + " again");
  return true;
}

bool Reconnector::rest(std::chrono::milliseconds& pause, Clock::time_point until) {
  const auto jitter = std::chrono::milliseconds(random_() % static_cast<unsigned>(pause.count()));
  until = std::min(until, Clock::now() + pause / 2 + jitter);
  pause = std::min(2 * pause, kLongestPause);
  MutexLock lock(thread_.mutex);
  while (!thread_.is_stopping() && thread_.wait_until(until)) {
  }
  return !thread_.is_stopping();
}

// Whether one of them has been resumed twice in a row without a byte coming through.
bool Reconnector::is_in_vain(const std::vector<Stream>& streams) {
  return std::any_of(streams.begin(), streams.end(), [this](const Stream& stream) {
    const std::uint64_t bytes = stream.connection->bytes_received() + stream.connection->acknowledged_bytes();
    return flows_[stream.connection].was_in_vain && came_to_nothing(stream, bytes);
  });
}

// Whether the connection that resumed the stream last has carried nothing, given the stream's count of bytes.
bool Reconnector::came_to_nothing(const Stream& stream, std::uint64_t bytes) {
  const Flow& flow = flows_[stream.connection];
  return flow.is_carried && bytes == flow.bytes && stream.connection->broken_since() - flow.since < kLastsMin;
}

bool Reconnector::found_nobody() const {
  MutexLock lock(thread_.mutex);
  return found_nobody_;
}

// A server that is stopped or very busy gets much time, but if its answer was lost, much of the window is left.
Deadline Reconnector::end_of_attempt(Clock::time_point since) const {
  const auto now = Clock::now();
  return std::max(now + std::chrono::milliseconds(kHandshakeTimeoutMs), now + (since + window_ - now) / 2);
}

Joined Reconnector::join(const JoinRequest& request, Deadline deadline) {
  const auto note = [this](bool found_nobody) {
    MutexLock lock(thread_.mutex);
    found_nobody_ = found_nobody;
  };
  try {
    Joined joined = join_(request, connect_timeout_, deadline, stopping_.get_token());
    note(false);
    return joined;
  } catch (const NotConnected&) {
    note(true);
    throw;
  } catch (...) {
    note(false);
    throw;
  }
}

std::string Reconnector::carry_on(const Stream& stream, Deadline deadline) {
  const ResumableConnection::Attempt attempt = stream.connection->detach();
  std::string failure;
  try {
    Joined joined = join({stream.role, invitation_, stream.features, false, attempt.received}, deadline);
    const Acceptance there = joined.taken;
    const auto connection =
        join_stripes(std::move(joined.connection), address_,
                     {invitation_.session, invitation_.epoch, there.stripes_key}, stripes_of(there.features), join_);
    const std::uint64_t bytes = attempt.received + there.received;
    const bool was_in_vain = came_to_nothing(stream, bytes);
    if (!stream.connection->resume(attempt, connection, there.received) && !stream.connection->ended()) {
      throw StreamGone(address_.text() + " says that it has received what was not sent, or not what it had received");
    }
    flows_[stream.connection] = {bytes, Clock::now(), true, was_in_vain};
  } catch (const StreamGone&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  return failure;
}

void Reconnector::give_up(const std::string& reason) {
  std::vector<Stream> streams;
  {
    MutexLock lock(thread_.mutex);
    reason_ = reason;
    streams = streams_;
  }
  for (const Stream& stream : streams) stream.connection->end(reason);
}

}  // namespace remotecl
