#include "server/admission/users.h"

#include <algorithm>

namespace remotecl::server {
namespace {

constexpr std::uint64_t kCommandSecondsMax = 1'000'000'000;
// The default limits of host memory: enough for programs with much in flight, too little to bring a machine
// down.
constexpr std::uint64_t kSessionHostMemory = std::uint64_t{1} << 30;
constexpr std::uint64_t kUserHostMemory = std::uint64_t{4} << 30;

MemoryLimits memory_limits(const Limits& limits, std::uint64_t host) {
  return {limits.device_memory.value_or(UINT64_MAX), limits.host_memory.value_or(host),
          limits.kernel_sockets.value_or(UINT64_MAX)};
}

Ref<RateLimit> rate_limit_of(const std::optional<std::uint64_t>& bandwidth, const Ref<Allowance>& allowance = nullptr,
                             std::size_t index = 0) {
  return bandwidth ? make_ref<RateLimit>(*bandwidth, allowance, index) : Ref<RateLimit>();
}

void check_devices(const std::string& section, const Limits& limits, const NativeDriver& driver) {
  if (!limits.devices) return;
  for (const std::uint32_t index : *limits.devices) {
    if (driver.device(index) != nullptr) continue;
    throw LimitsError("devices of [" + section + "] names device " + std::to_string(index) + ", and this server has " +
                      std::to_string(driver.devices().size()) + ", numbered from 0; see what it prints when it begins");
  }
}

// Keeps the devices that are also in `allowed`; no list allows all.
void restrict_to(const std::optional<std::vector<std::uint32_t>>& allowed, std::vector<bool>& devices) {
  if (!allowed) return;
  for (std::uint32_t index = 0; index < devices.size(); ++index) {
    if (std::find(allowed->begin(), allowed->end(), index) == allowed->end()) devices[index] = false;
  }
}

std::optional<std::uint64_t> smaller(std::optional<std::uint64_t> one, std::optional<std::uint64_t> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

}  // namespace

User::User(std::string name, Limits limits, std::size_t devices, Ref<Allowance> allowance)
    : name_(std::move(name)),
      limits_(std::move(limits)),
      counters_(make_ref<Counters>(MemoryQuota::counters(devices))),
      memory_(make_ref<MemoryQuota>(devices, counters_, memory_limits(limits_, kUserHostMemory), nullptr)),
      allowance_(std::move(allowance)),
      shares_(make_ref<UserShares>(devices)),
      rate_limit_(rate_limit_of(limits_.bandwidth, allowance_, 0)),
      kernel_rate_limit_(rate_limit_of(limits_.kernel_bandwidth, allowance_, 1)),
      sessions_(std::make_shared<std::atomic<std::uint64_t>>(0)) {}

User::User(const User& former, Limits limits, std::size_t devices)
    : name_(former.name_),
      limits_(std::move(limits)),
      counters_(former.counters_),
      memory_(make_ref<MemoryQuota>(devices, counters_, memory_limits(limits_, kUserHostMemory), nullptr)),
      shares_(former.shares_),
      rate_limit_(rate_limit_of(limits_.bandwidth)),
      kernel_rate_limit_(rate_limit_of(limits_.kernel_bandwidth)),
      sessions_(former.sessions_) {}

bool User::begin_session() {
  const std::uint64_t max = limits_.sessions.value_or(UINT64_MAX);
  std::uint64_t now = sessions_->load(std::memory_order_relaxed);
  do {
    if (now >= max) return false;
  } while (!sessions_->compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
  return true;
}

Grant::Grant(Ref<User> user, const Limits& of_session, const NativeDriver& driver)
    : user_(std::move(user)),
      of_session_(of_session),
      memory_(
          make_ref<MemoryQuota>(driver.devices().size(),
                                user_->allowance() ? user_->allowance()->claims()
                                                   : make_ref<Counters>(MemoryQuota::counters(driver.devices().size())),
                                memory_limits(of_session, kSessionHostMemory), user_->memory(), user_->allowance())),
      devices_(driver.devices().size(), true),
      device_memory_max_(smaller(of_session.device_memory, user_->limits().device_memory).value_or(UINT64_MAX)),
      queued_commands_max_(smaller(of_session.queued_commands, user_->limits().queued_commands)),
      kernel_threads_max_(smaller(of_session.kernel_threads, user_->limits().kernel_threads)) {
  if (const auto seconds = smaller(of_session.command_seconds, user_->limits().command_seconds)) {
    command_time_max_ = std::chrono::seconds(std::min(*seconds, kCommandSecondsMax));
  }
  const auto limit = [](std::vector<Ref<RateLimit>>& all, const Ref<RateLimit>& one) {
    if (one) all.push_back(one);
  };
  limit(rate_limits_, user_->rate_limit());
  limit(rate_limits_, rate_limit_of(of_session.bandwidth));
  limit(kernel_rate_limits_, user_->kernel_rate_limit());
  limit(kernel_rate_limits_, rate_limit_of(of_session.kernel_bandwidth));
  restrict_to(of_session.devices, devices_);
  restrict_to(user_->limits().devices, devices_);
  // A device that a session has claimed is invisible to others.
  for (const auto& device : driver.devices()) {
    if (device->turns()->is_taken_from(0)) devices_[device->index()] = false;
  }
}

std::unique_ptr<SessionShare> Grant::share() const {
  const SessionShare::Bounds bounds{
      user_->memory()->limits(),
      memory_->limits(),
      {user_->limits().bandwidth.value_or(0), user_->limits().kernel_bandwidth.value_or(0)}};
  return std::make_unique<SessionShare>(user_->shares(), bounds);
}

bool Grant::sees_none() const { return std::find(devices_.begin(), devices_.end(), true) == devices_.end(); }

std::vector<std::uint32_t> Grant::devices() const {
  std::vector<std::uint32_t> seen;
  for (std::uint32_t index = 0; index < devices_.size(); ++index) {
    if (devices_[index]) seen.push_back(index);
  }
  return seen;
}

std::vector<std::byte> Grant::device_list(const NativeDriver& driver) const {
  const auto is_visible = [this](const Device& device) { return sees(device.index()); };
  return driver.device_list(is_visible, device_memory_max_);
}

void Grant::end() {
  if (!ended_.exchange(true)) user_->end_session();
}

Users::Users(std::optional<AccessToken> common, LimitsTable limits, const NativeDriver& driver, const Users* former)
    : common_(std::move(common)),
      of_session_(std::move(limits.session)),
      everybody_(make_user(User::kEverybody, limits.standard, driver.devices().size(), former)) {
  check_devices("session", of_session_, driver);
  check_devices("default", limits.standard, driver);
  if (common_) add(*common_, everybody_);
  for (NamedUser& user : limits.users) {
    check_devices("users." + user.name, user.limits, driver);
    add(std::move(user.token),
        make_user(user.name, user.limits.or_else(limits.standard), driver.devices().size(), former));
  }
}

std::unique_ptr<Users> Users::renewed(LimitsTable limits, const NativeDriver& driver) const {
  return std::make_unique<Users>(common_, std::move(limits), driver, this);
}

Ref<User> Users::named(const std::string& name) const {
  const std::vector<Ref<User>> known = all();
  const auto at = std::find_if(known.begin(), known.end(), [&](const Ref<User>& user) { return user->name() == name; });
  return at == known.end() ? Ref<User>() : *at;
}

Ref<User> Users::make_user(std::string name, Limits limits, std::size_t devices, const Users* former) const {
  const Ref<User> known = former != nullptr ? former->named(name) : Ref<User>();
  if (known) return make_ref<User>(*known, std::move(limits), devices);
  return make_ref<User>(std::move(name), std::move(limits), devices);
}

std::unique_ptr<Grant> Users::grant(const Ref<User>& user, const NativeDriver& driver) const {
  try {
    return std::make_unique<Grant>(user, of_session_, driver);
  } catch (...) {
    user->end_session();
    throw;
  }
}

void Users::add(AccessToken token, const Ref<User>& owner) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (as_text(tokens_[i].key()) != as_text(token.key())) continue;
    throw LimitsError("users " + owners_[i]->name() + " and " + owner->name() +
                      " have the same token, and could not be told apart; remotecl keygen makes another one");
  }
  tokens_.push_back(std::move(token));
  owners_.push_back(owner);
}

std::vector<Ref<User>> Users::all() const {
  std::vector<Ref<User>> all = owners_;
  if (std::find(all.begin(), all.end(), everybody_) == all.end()) all.insert(all.begin(), everybody_);
  return all;
}

}  // namespace remotecl::server
