#include "cases.h"
#include "tracing.h"

namespace remotecl::bench {
namespace {

constexpr size_t kEnqueued = 10'000;

double run_unchained(const ClSide& side, cl_command_queue queue) {
  const Stopwatch watch;
  for (size_t i = 0; i < kEnqueued; ++i) ClSide::enqueue(queue, side.no_op());
  ClSide::finish(queue);
  return watch.seconds();
}

// Each kernel waits for the one before, whose event is let go as soon as it is in the wait list.
double run_chained(const ClSide& side, cl_command_queue queue) {
  const Stopwatch watch;
  Event previous;
  for (size_t i = 0; i < kEnqueued; ++i) {
    cl_event wait = previous.get();
    cl_event next = nullptr;
    ClSide::enqueue(queue, side.no_op(), wait ? 1 : 0, wait ? &wait : nullptr, &next);
    previous.reset(next);
  }
  ClSide::finish(queue);
  return watch.seconds();
}

bool is_cpu(const ClSide& side) {
  cl_device_type type = 0;
  check(clGetDeviceInfo(side.choice().device, CL_DEVICE_TYPE, sizeof type, &type, nullptr), "clGetDeviceInfo");
  return (type & CL_DEVICE_TYPE_CPU) != 0;
}

template <typename Run>
Case pipelined(const Bench& bench, Run run) {
  Case result;
  result.unit = Unit::kKernelsPerSecond;
  result.amount = static_cast<double>(kEnqueued);
  result.ceiling = Ceiling::kNative;
  result.target = is_cpu(bench.remotecl) ? Target{0, 0.6, 0, "60 % of native"} : Target{0, 0.9, 0, "90 % of native"};
  result.plan = {.repetitions = bench.options.quick ? 3u : 15u, .block = 1, .warm_up = 1};
  result.runners = on_both(bench, [run](const ClSide& side) -> Runner {
    return {[&side, run] { return run(side); }, {}};
  });
  result.runners.raw = {[&raw = bench.raw] { return raw.send_messages(kEnqueued); }, {}};
  return result;
}

bool has_out_of_order(const Bench& bench) {
  return bench.remotecl.out_of_order_queue() && (!bench.native || bench.native->out_of_order_queue());
}

std::optional<Case> in_order(const Bench& bench) {
  return pipelined(bench, [](const ClSide& side) { return run_unchained(side, side.queue()); });
}

// On an out-of-order queue where there is one: only there is the chain what keeps the order.
std::optional<Case> event_chain(const Bench& bench) {
  const bool out_of_order = has_out_of_order(bench);
  return pipelined(bench, [out_of_order](const ClSide& side) {
    return run_chained(side, out_of_order ? side.out_of_order_queue() : side.queue());
  });
}

std::optional<Case> out_of_order(const Bench& bench) {
  if (!has_out_of_order(bench)) return std::nullopt;
  return pipelined(bench, [](const ClSide& side) { return run_unchained(side, side.out_of_order_queue()); });
}

// With a trace against without one, in turns. Beginning and ending the trace is not timed. No target: a trace is exact,
// kernel by kernel, and kernels that do nothing pay for it.
template <typename Run>
Case traced(const Bench& bench, Run run) {
  Case result;
  result.unit = Unit::kKernelsPerSecond;
  result.amount = static_cast<double>(kEnqueued);
  result.ceiling = Ceiling::kBase;
  result.plan = {.repetitions = bench.options.quick ? 3u : 61u, .block = 1, .warm_up = 2};
  const ClSide* side = &bench.remotecl;
  result.runners.base = {[side, run] { return run(*side); }, {}};
  result.runners.remotecl = {[side, run] {
                               const Tracing tracing;
                               return run(*side);
                             },
                             {}};
  return result;
}

std::optional<Case> traced_in_order(const Bench& bench) {
  return traced(bench, [](const ClSide& side) { return run_unchained(side, side.queue()); });
}

std::optional<Case> traced_event_chain(const Bench& bench) {
  return traced(bench, [](const ClSide& side) { return run_chained(side, side.queue()); });
}

std::optional<Case> traced_out_of_order(const Bench& bench) {
  if (!bench.remotecl.out_of_order_queue()) return std::nullopt;
  return traced(bench, [](const ClSide& side) { return run_unchained(side, side.out_of_order_queue()); });
}

// On the automatic device against the queue of one device, in turns: what it costs to place each kernel. With more than
// one device kernels go to all of them.
std::optional<Case> automatic_in_order(const Bench& bench) {
  Case result;
  result.unit = Unit::kKernelsPerSecond;
  result.amount = static_cast<double>(kEnqueued);
  result.ceiling = Ceiling::kBase;
  result.target = {0, 0, 0, "80 % of the rate without it", 0.8};
  result.plan = {.repetitions = bench.options.quick ? 3u : 31u, .block = 1, .warm_up = 2};
  DeviceChoice choice = bench.remotecl.choice();
  choice.device = automatic_device();
  const auto automatic = std::make_shared<const ClSide>(choice);
  result.runners.base = {[side = &bench.remotecl] { return run_unchained(*side, side->queue()); }, {}};
  result.runners.remotecl = {[automatic] { return run_unchained(*automatic, automatic->queue()); }, {}};
  return result;
}

}  // namespace

void add_pipeline_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"pipelined-in-order", in_order});
  cases.push_back({"pipelined-event-chain", event_chain});
  cases.push_back({"pipelined-out-of-order", out_of_order});
  cases.push_back({"automatic-in-order", automatic_in_order});
  cases.push_back({"traced-in-order", traced_in_order});
  cases.push_back({"traced-event-chain", traced_event_chain});
  cases.push_back({"traced-out-of-order", traced_out_of_order});
}

}  // namespace remotecl::bench
