// The order of commands, their ends, and what waits have to say; random_program_actions.cpp has what they do.
#include "icd/random_program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "icd/random_commands.h"

namespace remotecl::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHistoryMax = 80;
constexpr std::chrono::seconds kCallbackPatience{20};

cl_int result_of_wait(cl_int status) { return status < 0 ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS; }

bool overlap(const ModelCommand::Range& a, const ModelCommand::Range& b) {
  return a.memory == b.memory && a.begin < b.begin + b.size && b.begin < a.begin + a.size;
}

bool overlap(const std::vector<ModelCommand::Range>& some, const std::vector<ModelCommand::Range>& others) {
  return std::any_of(some.begin(), some.end(), [&](const auto& one) {
    return std::any_of(others.begin(), others.end(), [&](const auto& other) { return overlap(one, other); });
  });
}

// What a callback checks: how its command has ended, and that what it waited for has ended, too.
struct Watch {
  std::shared_ptr<std::atomic<int>> open;
  std::string what;
  cl_int expected;
  std::vector<std::pair<Owned<cl_event>, std::string>> waits{};

  static void CL_CALLBACK call(cl_event, cl_int status, void* data) {
    const std::unique_ptr<Watch> watch(static_cast<Watch*>(data));
    EXPECT_EQ(status, watch->expected) << "callback of " << watch->what;
    for (const auto& [event, what] : watch->waits) {
      if (status != CL_COMPLETE) break;
      EXPECT_LE(testing::status(event), CL_COMPLETE) << watch->what << " has called back, and " << what << " goes on";
    }
    --*watch->open;
  }
};

}  // namespace

RandomProgram::RandomProgram(const std::vector<cl_device_id>& devices, std::uint64_t seed)
    : seed_(seed),
      choice_(seed),
      devices_(devices),
      context_(make_context(devices)),
      program_(build(context_, kRandomKernels, "-cl-kernel-arg-info")) {
  for (std::size_t device = 0; device < devices.size(); ++device) {
    for (const bool in_order : {true, false}) queues_.push_back(make_queue(device, in_order));
  }
  for (const std::size_t size : {700, 3000, 20'000, 70'000, 300'000}) {
    model_.add(Words(size));
    memories_.emplace_back();
  }
  for (std::size_t i = 0; i < memories_.size(); ++i) make_memory(i);
  make_image();
}

RandomProgram::~RandomProgram() {
  memories_.clear();
  const auto deadline = std::chrono::steady_clock::now() + kCallbackPatience;
  while (callbacks_->load() != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(callbacks_->load(), 0) << "callbacks have not come";
}

std::string RandomProgram::history() const {
  std::string text;
  const MutexLock lock(mutex_);
  for (const std::string& line : history_) text += line + '\n';
  return text;
}

void RandomProgram::say(std::string words) {
  const MutexLock lock(mutex_);
  history_.push_back(std::move(words));
  if (history_.size() > kHistoryMax) history_.pop_front();
}

// ---- Commands.

RandomProgram::Shared RandomProgram::command(std::string what, std::vector<Range> reads, std::vector<Range> writes) {
  auto made = std::make_shared<Command>();
  made->what = std::move(what);
  made->reads = std::move(reads);
  made->writes = std::move(writes);
  return made;
}

bool RandomProgram::enqueue(const Shared& command, const Call& call) {
  command->queue = queues_[below(queues_.size())];
  order(command);
  const bool succeeds = command->expected == CL_COMPLETE;
  if (succeeds && command->effect) {
    model_.carry_out(
        {.what = command->what, .reads = command->reads, .writes = command->writes, .effect = command->effect}, 0);
  }
  const bool has_event = command->needs_event || !choice_.one_in(6);
  std::vector<cl_event> waits;
  for (const Shared& former : command->waits) waits.push_back(former->event);
  command->position = ++command->queue->last;
  std::string words = std::to_string(++commands_) + ": " + command->what + (command->blocks ? ", blocking" : "") +
                      ", device " + std::to_string(command->queue->device) +
                      (command->queue->in_order ? " in order" : " out of order") +
                      (has_event ? "" : ", without event") + (succeeds ? "" : ", fails");
  for (const Shared& former : command->waits) words += "; waits for " + former->what;
  say(std::move(words));
  const cl_int code = call(command->queue->handle, static_cast<cl_uint>(waits.size()),
                           waits.empty() ? nullptr : waits.data(), has_event ? command->event.out() : nullptr);
  note(command, code, has_event);
  return succeeds && code == CL_SUCCESS;
}

void RandomProgram::note(const Shared& command, cl_int code, bool has_event) {
  EXPECT_EQ(code, command->blocks ? command->expected : CL_SUCCESS) << "call of " << command->what;
  if (code != CL_SUCCESS) command->event.reset();
  if (command->expected < 0 && !has_event && command->blocks) {
    // The call has reported it, and with it what was known of earlier ones.
    if (std::exchange(command->queue->has_failure, false)) command->queue->may_have_failure = true;
  } else if (command->expected < 0 && !has_event) {
    (command->keeps_failure ? command->queue->may_have_failure : command->queue->has_failure) = true;
  }
  for (const auto& ranges : {command->reads, command->writes}) {
    for (const Range& range : ranges) memories_[range.memory].uses.push_back(command);
  }
  under_way_.push_back(command);
  if (command->event && choice_.one_in(3)) watch(*command);
  if (!command->blocks) return;
  if (command->is_write && code == CL_SUCCESS) {
    std::exchange(command->at_end, nullptr)(true);
  } else {
    end(command);
  }
}

void RandomProgram::watch(const Command& command) {
  auto watch = std::make_unique<Watch>(Watch{callbacks_, command.what, command.expected});
  for (const Shared& former : command.waits) {
    check(clRetainEvent(former->event));
    watch->waits.emplace_back(former->event.get(), former->what);
  }
  ++*callbacks_;
  check(clSetEventCallback(command.event, CL_COMPLETE, Watch::call, watch.release()));
}

void RandomProgram::order(const Shared& command) {
  for (const auto& ranges : {command->reads, command->writes}) {
    for (const Range& range : ranges) {
      const std::vector<Shared> uses = memories_[range.memory].uses;  // waits change the list
      for (const Shared& former : uses) {
        const bool conflicts = overlap(command->writes, former->writes) || overlap(command->writes, former->reads) ||
                               overlap(command->reads, former->writes);
        if (conflicts) order_behind(*command, former);
      }
    }
  }
  wait_for_some(*command);
  for (const auto& ranges : {command->reads, command->writes}) {
    for (const Range& range : ranges) {
      std::erase_if(memories_[range.memory].uses, [](const Shared& former) { return former->has_ended; });
    }
  }
}

void RandomProgram::order_behind(Command& command, const Shared& former) {
  if (former->has_ended) return;
  const bool implied = is_implied(command, *former);
  if (implied && !choice_.one_in(3)) return;
  if (former->event && (former->expected == CL_COMPLETE || (command.may_fail && choice_.one_in(2)))) {
    return add_wait(command, former);
  }
  if (!implied) former->event ? wait(former) : finish(*former->queue);
}

void RandomProgram::add_wait(Command& command, const Shared& former) {
  if (std::find(command.waits.begin(), command.waits.end(), former) != command.waits.end()) return;
  command.waits.push_back(former);
  if (former->expected < 0) command.expected = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

// "If two commands are in the same queue": both in their order, or with a barrier between them.
bool RandomProgram::is_implied(const Command& command, const Command& former) {
  return command.queue == former.queue && (former.queue->in_order || former.position <= former.queue->barrier);
}

void RandomProgram::wait_for_some(Command& command) {
  if (command.covers_queue) return;  // its list is empty
  if (choice_.one_in(5)) {
    const Shared former = pending();
    if (former && (command.may_fail || former->expected == CL_COMPLETE)) add_wait(command, former);
  }
  if (choice_.one_in(6)) add_wait(command, user_event(command.may_fail));
}

RandomProgram::Shared RandomProgram::user_event(bool may_fail) {
  Shared made = command("a user event", {}, {});
  made->event = make_user_event(context_);
  if (may_fail && choice_.one_in(3)) made->expected = choice_.of<cl_int>({-1, -5, -14, -9999});
  made->what += " with " + std::to_string(made->expected);
  if (choice_.one_in(4)) {
    check(clSetUserEventStatus(made->event, made->expected));
  } else {
    user_events_.set_later(made->event, made->expected,
                           std::chrono::microseconds(below(choice_.one_in(20) ? 20'000 : 2000)));
  }
  under_way_.push_back(made);
  if (choice_.one_in(3)) watch(*made);
  return made;
}

// ---- Waits.

RandomProgram::Shared RandomProgram::pending() {
  if (under_way_.empty()) return nullptr;
  Shared some = under_way_[below(under_way_.size())];
  return some->event ? some : nullptr;
}

void RandomProgram::wait_for_one() {
  if (const Shared some = pending()) wait(some);
}

void RandomProgram::wait(Shared command) {
  say("wait for " + command->what);
  EXPECT_EQ(clWaitForEvents(1, command->event.pointer()), result_of_wait(command->expected))
      << "wait for " << command->what;
  end(command);
}

void RandomProgram::wait_for_several() {
  std::vector<Shared> all;
  std::vector<cl_event> events;
  cl_int expected = CL_SUCCESS;
  for (std::size_t i = 2 + below(3); i != 0; --i) {
    const Shared some = pending();
    if (!some) return;
    all.push_back(some);
    events.push_back(some->event);
    if (some->expected < 0) expected = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
  }
  say("wait for " + std::to_string(all.size()) + ", first " + all[0]->what);
  EXPECT_EQ(clWaitForEvents(static_cast<cl_uint>(events.size()), events.data()), expected) << "wait for several";
  if (expected == CL_SUCCESS) {
    for (const Shared& one : all) end(one);
  }
}

void RandomProgram::poll() {
  const Shared some = pending();
  if (!some || status(some->event) > CL_COMPLETE) return;
  say("seen: the end of " + some->what);
  end(some);
}

// "Blocks until all previously queued OpenCL commands in command_queue [...] have completed". It reports failures of
// commands that have no event.
void RandomProgram::finish(Queue& queue) {
  say("clFinish of device " + std::to_string(queue.device) + (queue.in_order ? " in order" : " out of order"));
  const cl_int code = clFinish(queue.handle);
  const bool may_have_failure = std::exchange(queue.may_have_failure, false);
  const bool has_failure = std::exchange(queue.has_failure, false);
  const bool may_fail = has_failure || may_have_failure;
  if (has_failure || !may_fail || code != CL_SUCCESS) {
    EXPECT_EQ(code, may_fail ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST : CL_SUCCESS)
        << "clFinish of device " << queue.device;
  }
  const std::vector<Shared> all = under_way_;
  for (const Shared& one : all) {
    if (one->queue.get() == &queue) end(one);
  }
}

void RandomProgram::expect_end(const Command& command) const {
  if (!command.event) return;
  const auto begin = std::chrono::steady_clock::now();
  const cl_int seen = status(command.event);
  // A client gives up asking after two seconds.
  const auto asked = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  EXPECT_EQ(seen, command.expected) << "status of " << command.what << ", asked for " << asked.count() << " ms";
}

void RandomProgram::end(Shared command) {
  if (std::exchange(command->has_ended, true)) return;
  expect_end(*command);
  const bool succeeded = command->expected == CL_COMPLETE;
  if (command->at_end) command->at_end(succeeded);
  command->at_end = nullptr;
  if (succeeded) end_before(*command);
  std::erase(under_way_, command);
}

void RandomProgram::end_before(const Command& command) {
  for (const Shared& former : command.waits) end(former);
  if (!command.queue || !(command.queue->in_order || command.covers_queue)) return;
  const std::vector<Shared> all = under_way_;
  for (const Shared& one : all) {
    if (one->queue == command.queue && one->position < command.position) end(one);
  }
}

void RandomProgram::settle() {
  while (!maps_.empty()) close_map(0);
  for (const auto& queue : queues_) finish(*queue);
  while (!under_way_.empty()) wait(under_way_.back());  // user events, and commands of queues that were released
  for (std::size_t memory = 0; memory < image(); ++memory) read_range(all_of(memory), true);
  read_rows(all_of(image()), true);
}

}  // namespace remotecl::testing
