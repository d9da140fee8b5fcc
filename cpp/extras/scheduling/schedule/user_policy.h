#pragma once

#include <remotecl/policy.h>

#include <memory>
#include <string>
#include <vector>

#include "extras/scheduling/schedule/policy.h"

namespace remotecl::schedule {

// A policy behind the C interface of remotecl/policy.h. If it names no candidate, the task goes where it ends first.
class UserPolicy : public Policy {
 public:
  // `library`: what keeps the table's code loaded, if anything must. Throws std::runtime_error if the table is for
  // another version, lacks what it must have, or refuses the options.
  UserPolicy(const remotecl_policy* table, const std::string& options, std::shared_ptr<void> library = nullptr);
  // The functions get `self`; the table's `create` is not called, and its `destroy` ends `self`.
  UserPolicy(const remotecl_policy* table, void* self);
  ~UserPolicy() override;

  std::string_view name() const override { return name_; }
  std::string_view reason() const override { return "chosen by the user's policy"; }
  Choice choose(const Situation& situation) override;
  void finished(const Result& result) override;

 private:
  // Throws std::runtime_error.
  void use(const remotecl_policy* table);

  const std::shared_ptr<void> library_;
  remotecl_policy table_{};
  std::string name_;
  void* self_ = nullptr;
  std::vector<remotecl_policy_candidate> candidates_;  // reused for its allocation
};

}  // namespace remotecl::schedule
