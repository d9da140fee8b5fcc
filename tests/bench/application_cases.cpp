#include <memory>
#include <vector>

#include "cases.h"
#include "pattern.h"
#include "tracing.h"

namespace remotecl::bench {
namespace {

constexpr int kLaunches = 15'000;
constexpr int kLaunchesPerWrite = 100;
constexpr int kLaunchesPerRead = 500;
constexpr size_t kWriteSize = 4096;

// A simulation's main loop: eleven calls for each of its many small kernels, a parameter block now and then, and rarely
// a look at the result.
class Application {
 public:
  explicit Application(const ClSide& side)
      : side_(side),
        in_(side.make_buffer(kWriteSize)),
        out_{side.make_buffer(sizeof(cl_int)), side.make_buffer(sizeof(cl_int))},
        parameters_(kLaunches / kLaunchesPerWrite, std::vector<cl_int>(kWriteSize / sizeof(cl_int))) {
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i][0] = static_cast<cl_int>(i);
  }

  double run() {
    const Stopwatch watch;
    cl_event last = nullptr;
    for (int launch = 0; launch < kLaunches; ++launch) {
      if (launch % kLaunchesPerWrite == 0) {
        ClSide::write(side_.queue(), in_, parameters_[launch / kLaunchesPerWrite].data(), kWriteSize, CL_FALSE);
      }
      step(launch, last);
      if (launch % kLaunchesPerRead == kLaunchesPerRead - 1) look(launch);
    }
    ClSide::finish(side_.queue());
    clReleaseEvent(last);
    return watch.seconds();
  }

 private:
  void step(int launch, cl_event& last) {
    cl_kernel kernel = side_.passthrough();
    cl_mem arguments[] = {in_.get(), out_[launch % 2].get()};
    for (int pass = 0; pass < 2; ++pass) {
      check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &arguments[0]), "clSetKernelArg");
      check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &arguments[1]), "clSetKernelArg");
    }
    cl_uint count = 0;
    check(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr), "clGetKernelInfo");
    check(clGetMemObjectInfo(arguments[1], CL_MEM_REFERENCE_COUNT, sizeof count, &count, nullptr),
          "clGetMemObjectInfo");
    check(clRetainMemObject(arguments[1]), "clRetainMemObject");
    cl_event event = nullptr;
    ClSide::enqueue(side_.queue(), kernel, last ? 1 : 0, last ? &last : nullptr, &event);
    check(clReleaseMemObject(arguments[1]), "clReleaseMemObject");
    check(clRetainEvent(event), "clRetainEvent");
    check(clReleaseEvent(event), "clReleaseEvent");
    if (last) clReleaseEvent(last);
    last = event;
  }

  void look(int launch) {
    cl_int value = -1;
    ClSide::read(side_.queue(), out_[launch % 2], &value, sizeof value);
    if (value != launch / kLaunchesPerWrite) throw DataError("application: wrong data");
  }

  const ClSide& side_;
  const Memory in_;
  const Memory out_[2];
  std::vector<std::vector<cl_int>> parameters_;  // a block for each write: they are not copied before it is carried out
};

std::optional<Case> application(const Bench& bench) {
  Case result;
  result.unit = Unit::kMilliseconds;
  result.ceiling = Ceiling::kNative;
  result.target = Target{0, 1.3, 0, "1.3 x native"};
  result.plan = {.repetitions = bench.options.quick ? 2u : 15u, .block = 1, .warm_up = 1};
  result.runners = on_both(bench, [](const ClSide& side) -> Runner {
    auto program = std::make_shared<Application>(side);
    return {[program] { return program->run(); }, {}};
  });
  return result;
}

// What somebody waits longer who looks at such a program with a trace.
std::optional<Case> traced_application(const Bench& bench) {
  Case result;
  result.unit = Unit::kMilliseconds;
  result.ceiling = Ceiling::kBase;
  result.plan = {.repetitions = bench.options.quick ? 2u : 15u, .block = 1, .warm_up = 1};
  auto program = std::make_shared<Application>(bench.remotecl);
  result.runners.remotecl = {[program] {
                               const Tracing tracing;
                               return program->run();
                             },
                             {}};
  result.runners.base = {[program] { return program->run(); }, {}};
  return result;
}

}  // namespace

void add_application_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"application-15000-launches", application});
  cases.push_back({"traced-application", traced_application});
}

}  // namespace remotecl::bench
