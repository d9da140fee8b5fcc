#include "simulation.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <queue>
#include <random>
#include <stdexcept>

#include "simulated_device.h"
#include "simulated_user.h"

namespace remotecl::schedule {
namespace {

class Simulation {
 public:
  Simulation(const Trace& trace, std::string_view policy)
      : trace_(trace),
        devices_(trace.devices.size()),
        last_progress_(trace.weights.size()),
        pending_(trace.weights.size()) {
    for (std::uint32_t user = 0; user < trace.weights.size(); ++user) {
      users_.push_back(std::make_unique<SimulatedUser>(trace, user, policy));
    }
    outcome_.slowdown.resize(users_.size());
    jobs_of_user_.resize(users_.size());
  }

  Outcome run() {
    for (std::uint32_t job = 0; job < trace_.jobs.size(); ++job) {
      push({trace_.jobs[job].arrival, 0, Event::kArrival, job});
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      if (event.kind == Event::kArrival) {
        arrive(event.what);
      } else if (event.kind == Event::kReady) {
        devices_[tasks_[event.what].device].make_ready(work(event.what));
        begin(tasks_[event.what].device);
      } else {
        end(event.what);
      }
    }
    for (std::size_t user = 0; user < users_.size(); ++user) {
      outcome_.slowdown[user] /= std::max<std::size_t>(jobs_of_user_[user], 1);
    }
    outcome_.makespan = now_;
    return std::move(outcome_);
  }

 private:
  struct Event {
    enum Kind { kArrival, kReady, kEnd };
    Time time;
    std::uint64_t number;  // events of one moment happen in the order in which they were made
    Kind kind;
    std::uint32_t what;  // a job or a task

    bool operator<(const Event& other) const { return time != other.time ? time > other.time : number > other.number; }
  };
  struct Task {
    std::uint32_t job;
    DeviceId device;
    Ticket ticket;
    Seconds seconds;
    Seconds transfer;
    std::uint32_t waits_for = 0;
    std::vector<std::uint32_t> followers;
  };
  struct Job {
    std::uint32_t first_task = 0;
    std::uint32_t left = 0;
  };

  void push(Event event) {
    event.number = ++events_made_;
    events_.push(event);
  }
  SimulatedDevice::Work work(std::uint32_t task) const {
    const std::uint32_t user = trace_.jobs[tasks_[task].job].user;
    return {task, user, trace_.weights[user], tasks_[task].seconds};
  }
  // Some time has passed for the user without progress, unless it had nothing to wait for.
  void progress(std::uint32_t user) {
    if (pending_[user] > 0) outcome_.stall = std::max(outcome_.stall, now_ - last_progress_[user]);
    last_progress_[user] = now_;
  }

  // All of a job's tasks are enqueued at once, as programs do.
  void arrive(std::uint32_t number) {
    const TraceJob& job = trace_.jobs[number];
    SimulatedUser& user = *users_[job.user];
    progress(job.user);
    user.report(devices_, now_);
    const BufferId data = buffer(number, 0);
    user.add_buffer(data, job.bytes);
    const auto first = static_cast<std::uint32_t>(tasks_.size());
    jobs_[number] = {first, static_cast<std::uint32_t>(job.tasks.size())};
    const DeviceId named = favourite(job);
    for (std::uint32_t at = 0; at < job.tasks.size(); ++at) {
      std::vector<BufferId> inputs;
      std::vector<Ticket> after;
      for (const std::uint32_t before : job.tasks[at].after) {
        inputs.push_back(buffer(number, before + 1));
        after.push_back(tasks_[first + before].ticket);
      }
      if (inputs.empty()) inputs.push_back(data);
      const Placement placement =
          user.place(job.tasks[at], job.bytes, inputs, buffer(number, at + 1), after, named, now_);
      outcome_.decisions.push_back(static_cast<float>(user.decision()));
      enqueue(number, at, placement);
    }
    for (std::uint32_t task = first; task < tasks_.size(); ++task) {
      if (tasks_[task].waits_for == 0) push({now_ + tasks_[task].transfer, 0, Event::kReady, task});
    }
  }
  static BufferId buffer(std::uint32_t job, std::uint32_t number) { return BufferId{job} << 32 | number; }

  // Who must say where tasks go takes one of a few devices that compile, by turns.
  DeviceId favourite(const TraceJob& job) {
    for (;;) {
      const auto device = static_cast<DeviceId>((job.user * 7 + random_() % 5) % devices_.size());
      if (trace_.devices[device].builds) return device;
      const auto other = static_cast<DeviceId>(random_() % devices_.size());
      if (trace_.devices[other].builds) return other;
    }
  }

  void enqueue(std::uint32_t job, std::uint32_t at, const Placement& placement) {
    if (placement.device == kNoDevice) throw std::logic_error("a task was not placed");
    const TraceTask& traced = trace_.jobs[job].tasks[at];
    const auto number = static_cast<std::uint32_t>(tasks_.size());
    Task task{.job = job,
              .device = placement.device,
              .ticket = placement.ticket,
              .seconds = trace_.seconds(traced, placement.device),
              .transfer = placement.estimate.transfer,
              .waits_for = static_cast<std::uint32_t>(traced.after.size()),
              .followers = {}};
    for (const std::uint32_t before : traced.after) tasks_[jobs_[job].first_task + before].followers.push_back(number);
    outcome_.longest_task = std::max(outcome_.longest_task, task.seconds + task.transfer);
    tasks_.push_back(std::move(task));
    ++pending_[trace_.jobs[job].user];
    devices_[placement.device].enqueue(work(number));
  }

  void begin(DeviceId device) {
    if (devices_[device].is_busy()) return;
    const auto next = devices_[device].begin();
    if (!next) return;
    progress(next->user);
    push({now_ + next->seconds, 0, Event::kEnd, next->task});
  }

  void end(std::uint32_t number) {
    Task& task = tasks_[number];
    const TraceJob& job = trace_.jobs[task.job];
    progress(job.user);
    --pending_[job.user];
    devices_[task.device].end(work(number));
    users_[job.user]->finished(task.ticket, task.seconds, now_);
    ++outcome_.tasks;
    for (const std::uint32_t follower : task.followers) {
      if (--tasks_[follower].waits_for == 0) push({now_ + tasks_[follower].transfer, 0, Event::kReady, follower});
    }
    begin(task.device);
    if (--jobs_[task.job].left == 0) finish_job(task.job);
  }

  void finish_job(std::uint32_t number) {
    const TraceJob& job = trace_.jobs[number];
    outcome_.slowdown[job.user] += (now_ - job.arrival) / trace_.critical_path(job);
    ++jobs_of_user_[job.user];
    for (std::uint32_t at = 0; at <= job.tasks.size(); ++at) users_[job.user]->remove_buffer(buffer(number, at));
  }

  const Trace& trace_;
  std::vector<SimulatedDevice> devices_;
  std::vector<std::unique_ptr<SimulatedUser>> users_;
  std::vector<Time> last_progress_;        // by user
  std::vector<std::uint32_t> pending_;     // tasks, by user
  std::vector<std::size_t> jobs_of_user_;  // that are done
  std::vector<Task> tasks_;
  std::vector<Job> jobs_ = std::vector<Job>(trace_.jobs.size());
  std::priority_queue<Event> events_;
  std::uint64_t events_made_ = 0;
  std::mt19937 random_{7};
  Time now_ = 0;
  Outcome outcome_;
};

}  // namespace

double Outcome::fairness() const {
  double sum = 0, squares = 0;
  for (const double slow : slowdown) {
    sum += 1 / slow;
    squares += 1 / (slow * slow);
  }
  return sum * sum / (static_cast<double>(slowdown.size()) * squares);
}

double Outcome::mean_slowdown() const {
  return std::accumulate(slowdown.begin(), slowdown.end(), 0.0) / static_cast<double>(slowdown.size());
}

double Outcome::worst_slowdown() const { return *std::max_element(slowdown.begin(), slowdown.end()); }

Outcome simulate(const Trace& trace, std::string_view policy) { return Simulation(trace, policy).run(); }

}  // namespace remotecl::schedule
