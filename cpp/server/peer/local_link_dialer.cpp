#include "server/peer/local_link_dialer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "runtime/handshake/dialer.h"
#include "runtime/transport/tcp/resolver.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

// For an address where no server has accepted a link yet, so that other addresses get their turn. Long enough for the
// client's AcceptPeer to reach the server there.
constexpr std::chrono::milliseconds kStrangerTimeout{3000};

// A server that has accepted one connection of a link gets several for its streams.
constexpr double kKnownCost = 0.25;
constexpr std::size_t kKnownMax = 2048;

std::string nobody(const Address& address) {
  return "no server that is to be linked has answered at " + address.text() +
         "; can this server's machine reach that address? Its log (--log-level info) says more";
}

std::chrono::milliseconds left_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

bool is_of_a_link(const JoinRequest& request) {
  const bool is_stream = request.role == Role::kPeerControl || request.role == Role::kPeerBulk;
  return is_stream || (request.role == Role::kStripe && !request.received);
}

}  // namespace

struct LocalLinkDialer::Attempt {
  const Wanted& wanted;
  std::chrono::milliseconds timeout;
  Deadline deadline;
  const std::stop_token& stop;
};

LinkDialer::Dialed LocalLinkDialer::dial(const Wanted& wanted, std::chrono::milliseconds timeout, Deadline deadline,
                                         const std::stop_token& stop) {
  check(wanted.request);
  std::string reasons;
  std::set<std::string> tried;
  for (const Address& address : wanted.addresses) {
    try {
      return try_address({wanted, timeout, deadline, stop}, address, tried);
    } catch (const StreamGone& gone) {
      if (wanted.request.received) throw;
      reasons += (reasons.empty() ? "" : "; ") + std::string(gone.what());
    } catch (const ConnectionError& error) {
      reasons += (reasons.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  throw ConnectionError(reasons);
}

// A session is linked to others' servers, so no connection of this daemon to itself may be handed out, whichever way it
// took.
void LocalLinkDialer::check(const JoinRequest& request) const {
  if (!is_of_a_link(request)) throw ConnectionError("servers connect to each other for links only");
  if (request.invitation.epoch == daemon_.epoch) throw ConnectionError("a server is not linked to itself");
}

std::string LocalLinkDialer::objection(const Address& number) const {
  const auto ip = ip_number(number.host);
  if (ip && daemon_.ports.has(*ip, number.port)) return number.text() + " is this server itself";
  return daemon_.rules.objection(number, asker_.client);
}

// The session must not learn what a name resolves to, so only objections to addresses are in its words.
LinkDialer::Dialed LocalLinkDialer::try_address(const Attempt& attempt, const Address& address,
                                                std::set<std::string>& tried) {
  const Deadline end = std::min(attempt.deadline, Clock::now() + kStrangerTimeout);
  const bool is_number = ip_number(address.host).has_value();
  std::vector<Address> numbers{address};
  try {
    if (!is_number) numbers = tcp::resolve(address, left_until(end));
  } catch (const ConnectionError& error) {
    log_attempt(address, error.what());
    numbers.clear();
  }
  std::string reason = nobody(address);
  bool is_stranger = true;
  for (const Address& number : numbers) {
    if (!tried.insert(number.text()).second) continue;
    if (const std::string why = objection(number); !why.empty()) {
      log_attempt(number, why, true);
      if (is_number) throw ConnectionError(why);
      continue;
    }
    const bool is_known = this->is_known(number);
    try {
      return try_number(attempt, number);
    } catch (const StreamGone&) {
      throw;
    } catch (const NoServer& error) {
      if (is_known) reason = error.what();
      is_stranger = is_stranger && !is_known;
    } catch (const ConnectionError& error) {  // said by a server
      reason = error.what();
      is_stranger = false;
    }
  }
  // The time that it takes would reveal whether a port is open. A client on this machine can find that out itself.
  if (is_stranger && !asker_.client.is_loopback()) rest_until(end, attempt.stop);
  throw ConnectionError(reason);
}

LinkDialer::Dialed LocalLinkDialer::try_number(const Attempt& attempt, const Address& number) {
  try {
    await_turn(attempt, number);
    Dialed dialed = connect(attempt, number);
    note_known(number);
    log_attempt(number, "accepted");
    return dialed;
  } catch (const ConnectionError& error) {
    log_attempt(number, error.what());
    throw;
  }
}

LinkDialer::Dialed LocalLinkDialer::connect(const Attempt& attempt, const Address& number) const {
  JoinRequest request = attempt.wanted.request;
  request.is_stranger = !is_known(number);
  Deadline deadline = attempt.deadline;
  if (request.is_stranger) deadline = std::min(deadline, Clock::now() + kStrangerTimeout);
  const Dialer dialer(ServerName{number, {}, {attempt.wanted.pin, {}, {}, {}}});
  std::unique_ptr<Connection> connection;
  std::optional<std::stop_callback<std::function<void()>>> end;
  try {
    connection = dialer.open(std::min(attempt.timeout, left_until(deadline)));
    end.emplace(attempt.stop, [&connection = *connection] { connection.shutdown(); });
    dialer.secure(*connection, deadline);
  } catch (const ConnectionError& error) {
    throw NotConnected(error.what());
  }
  const Acceptance taken = join(*connection, number, request, deadline);
  end.reset();
  return {std::move(connection), taken, number};
}

void LocalLinkDialer::await_turn(const Attempt& attempt, const Address& number) {
  const double cost = is_known(number) ? kKnownCost : 1;
  for (;;) {
    Deadline turn{};
    {
      MutexLock lock(mutex_);
      const auto now = Clock::now();
      const double forgotten = std::chrono::duration<double>(now - counted_).count() * kAttemptsPerSecond;
      attempts_ = std::max(attempts_ - forgotten, 0.0);
      counted_ = now;
      if (attempts_ + cost <= kAttemptsAtOnce) {
        attempts_ += cost;
        return;
      }
      const std::chrono::duration<double> wait((attempts_ + cost - kAttemptsAtOnce) / kAttemptsPerSecond);
      turn = now + std::chrono::ceil<std::chrono::milliseconds>(wait);
    }
    if (turn > attempt.deadline || attempt.stop.stop_requested()) {
      throw NotConnected("this session has had the server connect to others too often; try again later");
    }
    rest_until(turn, attempt.stop);
  }
}

void LocalLinkDialer::rest_until(Deadline deadline, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    stopped_.notify_all();
  });
  MutexLock lock(mutex_);
  while (!stop.stop_requested() && stopped_.wait_until(mutex_, deadline) != std::cv_status::timeout) {
  }
}

bool LocalLinkDialer::is_known(const Address& number) const {
  MutexLock lock(mutex_);
  return known_.contains(number.text());
}

void LocalLinkDialer::note_known(const Address& number) {
  MutexLock lock(mutex_);
  if (known_.size() < kKnownMax) known_.insert(number.text());
}

void LocalLinkDialer::log_attempt(const Address& number, const std::string& outcome, bool is_refused) const {
  const LogScope scope(asker_.session);
  if (is_refused) {
    log_warning("may not connect to {} for a link of user {}: {}", number.text(), asker_.user, outcome);
  } else {
    log_info("connects to {} for a link of user {}: {}", number.text(), asker_.user, outcome);
  }
}

}  // namespace remotecl::server
