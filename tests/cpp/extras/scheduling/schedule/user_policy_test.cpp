#include "extras/scheduling/schedule/user_policy.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>

#include "extras/scheduling/schedule/policy_library.h"
#include "fixture.h"

namespace remotecl::schedule {
namespace {

// What a policy was asked, and what it will answer.
struct Script {
  std::uint32_t answer = 0;
  std::vector<remotecl_policy_candidate> candidates;
  std::string kernel;
  double finished_seconds = 0;
  bool destroyed = false;
};

Script script;

int create_script(const char* options, void** self) {
  *self = &script;
  return std::string(options) == "wrong" ? 1 : 0;
}
void destroy_script(void* self) { static_cast<Script*>(self)->destroyed = true; }
uint32_t choose_by_script(void* self, const remotecl_policy_task* task, const remotecl_policy_candidate* candidates) {
  auto& script = *static_cast<Script*>(self);
  script.kernel = task->kernel;
  script.candidates.assign(candidates, candidates + task->count);
  return script.answer;
}
void finish_script(void* self, const remotecl_policy_result* result) {
  static_cast<Script*>(self)->finished_seconds = result->seconds;
}

remotecl_policy table() {
  script = Script();
  return {sizeof(remotecl_policy), REMOTECL_POLICY_VERSION, "scripted",   create_script,
          destroy_script,          choose_by_script,        finish_script};
}

TEST(UserPolicyTest, SeesEachCandidateAndChooses) {
  SmallCluster cluster("static");
  cluster.add({.builds = false});
  const DeviceId cpu = cluster.add({.type = DeviceType::kCpu, .speed = 3});
  const DeviceId gpu = cluster.add({.type = DeviceType::kGpu, .speed = 9});
  const KernelId kernel = cluster.scheduler_.add_kernel("saxpy");
  cluster.measure(kernel, cpu, 1, 5);
  const remotecl_policy scripted = table();
  cluster.scheduler_.set_policy(std::make_unique<UserPolicy>(&scripted, ""));
  script.answer = 0;
  EXPECT_EQ(cluster.place(kernel).device, cpu);
  EXPECT_EQ(script.kernel, "saxpy");
  ASSERT_EQ(script.candidates.size(), 2u);
  EXPECT_EQ(script.candidates[0].size, sizeof(remotecl_policy_candidate));
  EXPECT_EQ(script.candidates[0].seconds, 5);
  EXPECT_EQ(script.candidates[0].measured, 1u);
  EXPECT_EQ(script.candidates[1].device, gpu);
  EXPECT_EQ(script.candidates[1].type, uint32_t{REMOTECL_POLICY_GPU});
  EXPECT_EQ(script.candidates[1].measured, 0u);
  script.answer = 1;
  const Placement second = cluster.place(kernel);
  EXPECT_EQ(second.device, gpu);
  EXPECT_EQ(second.policy->name, "scripted");
  EXPECT_EQ(script.candidates[0].queued, 1u);
  cluster.scheduler_.finished(second.ticket, 2.5, 3);
  EXPECT_EQ(script.finished_seconds, 2.5);
  cluster.use("static");
  EXPECT_TRUE(script.destroyed);
}

TEST(UserPolicyTest, WhatItDoesNotNameEndsFirst) {
  SmallCluster cluster("static");
  cluster.add_speed(1);
  const DeviceId fast = cluster.add_speed(5);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  const remotecl_policy scripted = table();
  cluster.scheduler_.set_policy(std::make_unique<UserPolicy>(&scripted, ""));
  for (const uint32_t nonsense : {REMOTECL_POLICY_NOBODY, 2u, 1u << 31}) {
    script.answer = nonsense;
    const Placement placement = cluster.place(kernel);
    EXPECT_EQ(placement.device, fast);
    cluster.scheduler_.failed(placement.ticket);
  }
}

TEST(UserPolicyTest, ATableMayBeShorterOrLonger) {
  remotecl_policy old = table();
  old.size = offsetof(remotecl_policy, finished);
  SmallCluster cluster("static");
  cluster.add_speed(1);
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  cluster.scheduler_.set_policy(std::make_unique<UserPolicy>(&old, ""));
  cluster.scheduler_.finished(cluster.place(kernel).ticket, 2, 2);
  EXPECT_EQ(script.finished_seconds, 0) << "a table of that size has no such function";
  const struct {
    remotecl_policy known;
    void* more;
  } longer = {[] {
                remotecl_policy known = table();
                known.size += sizeof(void*);
                return known;
              }(),
              nullptr};
  EXPECT_EQ(UserPolicy(&longer.known, "").name(), "scripted");
}

TEST(UserPolicyTest, SaysWhatIsWrongWithATable) {
  const auto message = [](const remotecl_policy* wrong, const char* options) -> std::string {
    try {
      UserPolicy(wrong, options);
      return "none";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  remotecl_policy wrong = table();
  EXPECT_EQ(message(&wrong, ""), "none");
  EXPECT_NE(message(&wrong, "wrong").find("scripted refuses the options \"wrong\""), std::string::npos);
  EXPECT_NE(message(nullptr, "").find("too short"), std::string::npos);
  wrong.version = REMOTECL_POLICY_VERSION - 1;
  EXPECT_NE(message(&wrong, "").find("for version 1 of remotecl/policy.h, not 2"), std::string::npos);
  wrong = table();
  wrong.size = sizeof(std::size_t);
  EXPECT_NE(message(&wrong, "").find("too short"), std::string::npos);
  wrong = table();
  wrong.choose = nullptr;
  EXPECT_NE(message(&wrong, "").find("lacks"), std::string::npos);
}

TEST(PolicyLibraryTest, ALibraryOfTheUserDecides) {
  SmallCluster cluster("static");
  const DeviceId cpu = cluster.add({.type = DeviceType::kCpu, .speed = 9});
  const DeviceId gpu = cluster.add({.type = DeviceType::kGpu, .speed = 1});
  const KernelId kernel = cluster.scheduler_.add_kernel("k");
  cluster.scheduler_.set_policy(load_policy(EXAMPLE_POLICY, "3"));
  std::map<DeviceId, int> count;
  for (int i = 0; i < 5; ++i) ++count[cluster.place(kernel).device];
  EXPECT_EQ(count[gpu], 3) << "as the options say";
  EXPECT_EQ(count[cpu], 2);
  EXPECT_THROW(load_policy(EXAMPLE_POLICY, "none"), std::runtime_error);
}

TEST(PolicyLibraryTest, SaysWhatIsWrongWithALibrary) {
  EXPECT_THROW(load_policy("/nowhere/policy.so", ""), std::runtime_error);
  EXPECT_THROW(load_policy("libm.so.6", ""), std::runtime_error) << "it exports no policy";
}

}  // namespace
}  // namespace remotecl::schedule
