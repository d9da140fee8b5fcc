#include <cstdint>

#include "cases.h"
#include "pattern.h"

namespace remotecl::bench {
namespace {

std::optional<Case> no_op_finish(const Bench& bench) {
  Case result;
  result.small = true;
  result.target = Target{1, 1, 10, "raw + native + 10 us"};
  result.plan = small_plan(bench.options);
  result.runners = on_both(bench, [](const ClSide& side) -> Runner {
    return {[&side] {
              const Stopwatch watch;
              ClSide::enqueue(side.queue(), side.no_op());
              ClSide::finish(side.queue());
              return watch.seconds();
            },
            {}};
  });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

// The buffers of a passthrough kernel, and the check that it really ran: the input changes after every
// check, so an output left over from before is noticed.
struct Passthrough {
  explicit Passthrough(const ClSide& owner)
      : side(owner),
        in(owner.make_buffer(sizeof value)),
        out(owner.make_buffer(sizeof value)),
        kernel(owner.passthrough()) {
    renew();
  }

  void bind() const {
    cl_mem arguments[] = {in.get(), out.get()};
    check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &arguments[0]), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &arguments[1]), "clSetKernelArg");
  }

  void renew() {
    ++value;
    ClSide::write(side.queue(), in, &value, sizeof value);
    ClSide::finish(side.queue());
  }

  void verify() {
    cl_int received = 0;
    ClSide::read(side.queue(), out, &received, sizeof received);
    if (received != value) throw DataError("passthrough kernel on " + side.choice().platform_name);
    renew();
  }

  const ClSide& side;
  cl_int value = 1000;
  Memory in;
  Memory out;
  cl_kernel kernel;
};

double event_seconds(const Event& event) {
  cl_ulong start = 0, end = 0;
  check(clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_START, sizeof start, &start, nullptr),
        "clGetEventProfilingInfo");
  check(clGetEventProfilingInfo(event.get(), CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr),
        "clGetEventProfilingInfo");
  return static_cast<double>(end - start) * 1e-9;
}

enum class Clock { kHost, kEvent };

Runner passthrough_runner(const ClSide& side, cl_command_queue queue, Clock clock) {
  auto pass = std::make_shared<Passthrough>(side);
  pass->bind();
  return {[pass, queue, clock] {
            const Stopwatch watch;
            cl_event handle = nullptr;
            ClSide::enqueue(queue, pass->kernel, 0, nullptr, &handle);
            const Event event(handle);
            check(clWaitForEvents(1, &handle), "clWaitForEvents");
            const double host = watch.seconds();
            return clock == Clock::kHost ? host : event_seconds(event);
          },
          [pass] { pass->verify(); }};
}

std::optional<Case> passthrough_host(const Bench& bench) {
  Case result;
  result.small = true;
  result.target = Target{1, 1, 15, "raw + native + 15 us"};
  result.plan = small_plan(bench.options);
  result.runners =
      on_both(bench, [](const ClSide& side) { return passthrough_runner(side, side.queue(), Clock::kHost); });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

std::optional<Case> passthrough_host_profiled(const Bench& bench) {
  Case result;
  result.small = true;
  result.target = Target{1, 1, 15, "raw + native + 15 us"};
  result.plan = small_plan(bench.options);
  result.runners =
      on_both(bench, [](const ClSide& side) { return passthrough_runner(side, side.profiling_queue(), Clock::kHost); });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

std::optional<Case> passthrough_event(const Bench& bench) {
  Case result;
  result.small = true;
  result.ceiling = Ceiling::kNative;
  result.plan = small_plan(bench.options);
  result.runners = on_both(
      bench, [](const ClSide& side) { return passthrough_runner(side, side.profiling_queue(), Clock::kEvent); });
  return result;
}

}  // namespace

void add_latency_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"noop-finish", no_op_finish});
  cases.push_back({"passthrough-host", passthrough_host});
  cases.push_back({"passthrough-host-profiled", passthrough_host_profiled});
  cases.push_back({"passthrough-event", passthrough_event});
}

}  // namespace remotecl::bench
