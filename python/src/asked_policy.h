#pragma once

#include <remotecl/policy.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/base/mutex.h"

namespace remotecl::python {

// A policy whose answers come from another thread, so that no placement waits for Python: whoever places a task holds
// the scheduler's lock and perhaps the GIL. One answer, a list of devices, serves all tasks of one kernel and size
// class in turn until the next one. While there is none, tasks go where they end first. Any thread.
class AskedPolicy {
 public:
  // An answer that is older is asked for again when the next task comes.
  static constexpr double kAnswerSeconds = 0.01;

  struct Question {
    std::string kernel;
    unsigned size_class;  // the work items' power of two
    remotecl_policy_task task;
    std::vector<remotecl_policy_candidate> candidates;
  };

  explicit AskedPolicy(std::string name);
  ~AskedPolicy();
  AskedPolicy(const AskedPolicy&) = delete;
  AskedPolicy& operator=(const AskedPolicy&) = delete;

  // Makes it the policy of this process. Returns "" or the JSON text of the error.
  static std::string use(const std::shared_ptr<AskedPolicy>& policy);

  // Readable when there are questions, or the policy has ended.
  int descriptor() const { return descriptor_; }
  std::vector<Question> take_questions();
  void answer(const std::string& kernel, unsigned size_class, std::vector<std::uint32_t> devices);
  // Another policy has replaced it.
  bool has_ended() const;

 private:
  struct Answer {
    std::vector<std::uint32_t> devices;
    std::size_t next = 0;
    double asked_s = -std::numeric_limits<double>::infinity();
    bool is_asked = false;  // and not answered yet
  };
  struct Key {
    std::string_view kernel;
    unsigned size_class;
    auto operator<=>(const Key&) const = default;
  };
  struct Less {
    using is_transparent = void;
    static Key key(const Key& key) { return key; }
    static Key key(const std::pair<std::string, unsigned>& key) { return {key.first, key.second}; }
    bool operator()(const auto& a, const auto& b) const { return key(a) < key(b); }
  };
  static constexpr std::size_t kAnswersMax = 4096;

  std::uint32_t choose(const remotecl_policy_task& task, const remotecl_policy_candidate* candidates);
  void end();
  void wake() const;

  const std::string name_;
  const int descriptor_;
  mutable Mutex mutex_;
  std::map<std::pair<std::string, unsigned>, Answer, Less> answers_ GUARDED_BY(mutex_);
  std::vector<Question> questions_ GUARDED_BY(mutex_);
  bool has_ended_ GUARDED_BY(mutex_) = false;
};

}  // namespace remotecl::python
