#include "runtime/transport/tcp/resolver.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl::tcp {
namespace {

// A bound, because the threads of look-ups last as long as the name server takes.
constexpr int kLookupsMax = 64;

struct LookupResult {
  int error = 0;
  std::vector<std::string> hosts;
};

LookupResult look_up(const std::string& host, Purpose purpose) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = purpose == Purpose::kListen ? AI_PASSIVE : AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  LookupResult result;
  result.error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (result.error != 0) return result;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    char number[NI_MAXHOST];
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, number, sizeof number, nullptr, 0, NI_NUMERICHOST) == 0) {
      result.hosts.emplace_back(number);
    }
  }
  ::freeaddrinfo(found);
  return result;
}

// The look-up of one name. Shared by the waiting caller and the look-up's thread, whichever ends first.
class Lookup {
 public:
  void end(LookupResult result) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    result_ = std::move(result);
    is_over_ = true;
    ended_.notify_all();
  }
  // Returns false if the time is over.
  bool wait(std::chrono::milliseconds timeout, LookupResult& result) EXCLUDES(mutex_) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (!is_over_) {
      if (ended_.wait_until(mutex_, end) == std::cv_status::timeout && !is_over_) return false;
    }
    result = std::move(result_);
    return true;
  }

 private:
  Mutex mutex_;
  ConditionVariable ended_;
  bool is_over_ GUARDED_BY(mutex_) = false;
  LookupResult result_ GUARDED_BY(mutex_);
};

// The number of look-ups in this process.
class LookupCount {
 public:
  bool enter() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (count_ >= kLookupsMax) return false;
    ++count_;
    return true;
  }
  void leave() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    --count_;
  }
  static LookupCount& instance() {
    static LookupCount& count = *new LookupCount;  // threads may outlive static objects
    return count;
  }

 private:
  Mutex mutex_;
  int count_ GUARDED_BY(mutex_) = 0;
};

ConnectionError cannot_resolve(const std::string& host, const std::string& why) {
  return ConnectionError("cannot resolve the host name \"" + host + "\" (" + why +
                         "); check the spelling, or use the server's IP address");
}

ConnectionError timed_out(const std::string& host, std::chrono::milliseconds timeout) {
  const auto tenths = timeout.count() / 100;
  return ConnectionError("cannot resolve the host name \"" + host + "\": no answer from the name server within " +
                         std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
                         " s; use the server's IP address, or look after name resolution on this machine "
                         "(/etc/resolv.conf)");
}

bool is_number(const std::string& host) {
  in6_addr number;
  return ::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1;
}

LookupResult look_up_beside(const std::string& host, std::chrono::milliseconds timeout, Purpose purpose) {
  LookupCount& count = LookupCount::instance();
  if (!count.enter()) throw cannot_resolve(host, "too many names are being looked up already");
  const auto lookup = std::make_shared<Lookup>();
  try {
    std::thread([lookup, host, purpose, &count] {
      lookup->end(look_up(host, purpose));
      count.leave();
    }).detach();
  } catch (const std::system_error& error) {
    count.leave();
    throw cannot_resolve(host, std::string("no thread: ") + error.what());
  }
  LookupResult result;
  if (!lookup->wait(timeout, result)) throw timed_out(host, timeout);
  return result;
}

}  // namespace

std::vector<Address> resolve(const Address& address, std::chrono::milliseconds timeout, Purpose purpose) {
  if (is_number(address.host)) return {address};
  const LookupResult result = look_up_beside(address.host, timeout, purpose);
  if (result.error != 0) throw cannot_resolve(address.host, ::gai_strerror(result.error));
  if (result.hosts.empty()) throw cannot_resolve(address.host, "it has no address");
  std::vector<Address> found;
  for (const std::string& host : result.hosts) found.push_back({host, address.port});
  return found;
}

}  // namespace remotecl::tcp
