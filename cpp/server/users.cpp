#include "server/users.h"

#include <algorithm>

namespace remotecl::server {
namespace {

Ref<Pace> pace_of(const Limits& limits) { return limits.bandwidth ? make_ref<Pace>(*limits.bandwidth) : Ref<Pace>(); }

void check_devices(const std::string& section, const Limits& limits, const NativeDriver& driver) {
  if (!limits.devices) return;
  for (const std::uint32_t index : *limits.devices) {
    if (driver.device(index) != nullptr) continue;
    throw LimitsError("devices of [" + section + "] names device " + std::to_string(index) + ", and this server has " +
                      std::to_string(driver.devices().size()) + ", numbered from 0; see what it prints when it begins");
  }
}

// What both allow; without a list everything.
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

User::User(std::string name, Limits limits, std::size_t devices)
    : name_(std::move(name)),
      limits_(std::move(limits)),
      memory_(make_ref<MemoryQuota>(devices, limits_.device_memory, nullptr)),
      pace_(pace_of(limits_)) {}

bool User::begin_session() {
  const std::uint64_t max = limits_.sessions.value_or(UINT64_MAX);
  std::uint64_t now = sessions_.load(std::memory_order_relaxed);
  do {
    if (now >= max) return false;
  } while (!sessions_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
  return true;
}

Grant::Grant(Ref<User> user, const Limits& of_session, const NativeDriver& driver)
    : user_(std::move(user)),
      memory_(make_ref<MemoryQuota>(driver.devices().size(), of_session.device_memory, user_->memory())),
      devices_(driver.devices().size(), true),
      device_memory_max_(smaller(of_session.device_memory, user_->limits().device_memory).value_or(UINT64_MAX)),
      queued_commands_max_(smaller(of_session.queued_commands, user_->limits().queued_commands)) {
  if (user_->pace()) paces_.push_back(user_->pace());
  if (const Ref<Pace> own = pace_of(of_session)) paces_.push_back(own);
  restrict_to(of_session.devices, devices_);
  restrict_to(user_->limits().devices, devices_);
  // What somebody has alone is not there for others.
  for (const auto& device : driver.devices()) {
    if (device->turns()->is_taken_from(0)) devices_[device->index()] = false;
  }
}

bool Grant::sees_none() const { return std::find(devices_.begin(), devices_.end(), true) == devices_.end(); }

std::vector<std::byte> Grant::device_list(const NativeDriver& driver) const {
  const auto is_visible = [this](const Device& device) { return sees(device.index()); };
  return driver.device_list(is_visible, device_memory_max_);
}

void Grant::end() {
  if (!ended_.exchange(true)) user_->end_session();
}

Users::Users(std::optional<AccessToken> common, LimitsTable limits, const NativeDriver& driver)
    : of_session_(std::move(limits.session)),
      everybody_(make_ref<User>("default", limits.standard, driver.devices().size())) {
  check_devices("session", of_session_, driver);
  check_devices("default", limits.standard, driver);
  if (common) add(*std::move(common), everybody_);
  for (NamedUser& user : limits.users) {
    check_devices("users." + user.name, user.limits, driver);
    add(std::move(user.token),
        make_ref<User>(user.name, user.limits.or_else(limits.standard), driver.devices().size()));
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
