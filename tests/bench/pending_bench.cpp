// What one more command costs while many others are pending behind a user event: the calling thread's processor time
// for each of the last tenth, the time of all to their end after the user event, and that of releasing what the program
// held. Plain OpenCL, for native drivers too.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "measure.h"
#include "opencl_objects.h"
#include "run_bench.h"

namespace remotecl::bench {
namespace {

constexpr char kSource[] = R"(
kernel void add_mv(global uint* to, uint value) { to[get_global_id(0)] += value; }
kernel void copy_mm(global const uint* from, global uint* to) { to[get_global_id(0)] = from[get_global_id(0)]; }
)";
constexpr size_t kSmall = 1024, kLarge = 128 << 10;

// Two devices, preferably of two servers, with a user event that holds everything up.
class Stage {
 public:
  Stage(cl_platform_id platform, std::vector<cl_device_id> devices)
      : devices_(std::move(devices)),
        context_(make_context(platform, devices_)),
        program_(build_program(context_.get(), devices_, kSource)),
        add_(make_kernel(program_, "add_mv")),
        copy_(make_kernel(program_, "copy_mm")) {
    cl_int error = CL_SUCCESS;
    start_.reset(clCreateUserEvent(context_.get(), &error));
    check(error, "clCreateUserEvent");
    set_argument(add_, 1, cl_uint{1});
  }

  cl_context context() const { return context_.get(); }
  cl_event start() const { return start_.get(); }
  // Each is made at its first use, and begins with a marker that waits for the user event.
  cl_command_queue queue(int number) {
    Queue& queue = queues_[number];
    if (queue) return queue.get();
    queue = make_queue(context_.get(), devices_[static_cast<size_t>(number) % devices_.size()], 0);
    const cl_event wait = start_.get();
    check(clEnqueueMarkerWithWaitList(queue.get(), 1, &wait, nullptr), "clEnqueueMarkerWithWaitList");
    return queue.get();
  }
  // Its commands have to wait for the user event themselves.
  cl_command_queue unordered_queue() {
    Queue& queue = queues_[-1];
    if (!queue) queue = make_queue(context_.get(), devices_[0], CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    return queue.get();
  }
  bool has_unordered_queues() const {
    const auto all = device_value<cl_command_queue_properties>(devices_[0], CL_DEVICE_QUEUE_PROPERTIES);
    return (all & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
  }
  // A buffer that a command has written, so that its bytes have somewhere to come from.
  cl_mem buffer(size_t size, int number = 0) {
    Memory& memory = buffers_[number];
    if (memory) return memory.get();
    memory = make_buffer(context_.get(), size);
    const cl_uint zero = 0;
    check(clEnqueueFillBuffer(queue(0), memory.get(), &zero, sizeof zero, 0, size, 0, nullptr, nullptr),
          "clEnqueueFillBuffer");
    return memory.get();
  }
  void add(cl_command_queue queue, cl_mem to, size_t size, std::vector<cl_event> waits = {}, cl_event* out = nullptr) {
    set_argument(add_, 0, to);
    run(queue, add_, size, waits, out);
  }
  void copy(cl_command_queue queue, cl_mem from, cl_mem to, size_t size) {
    set_argument(copy_, 0, from);
    set_argument(copy_, 1, to);
    run(queue, copy_, size, {}, nullptr);
  }
  void keep(cl_event event) { events_.emplace_back(event); }
  cl_event last() const { return events_.empty() ? nullptr : events_.back().get(); }
  std::byte* memory(size_t size) {
    memory_.resize(std::max(memory_.size(), size));
    return memory_.data();
  }

  // Returns the time until everything has ended.
  double finish() {
    const Stopwatch watch;
    check(clSetUserEventStatus(start_.get(), CL_COMPLETE), "clSetUserEventStatus");
    for (const auto& [number, queue] : queues_) check(clFlush(queue.get()), "clFlush");
    for (const auto& [number, queue] : queues_) check(clFinish(queue.get()), "clFinish");
    return watch.seconds();
  }
  void release() { events_.clear(); }

 private:
  static void run(cl_command_queue queue, const Kernel& kernel, size_t size, const std::vector<cl_event>& waits,
                  cl_event* out) {
    const size_t items = size / sizeof(cl_uint);
    check(clEnqueueNDRangeKernel(queue, kernel.get(), 1, nullptr, &items, nullptr, static_cast<cl_uint>(waits.size()),
                                 waits.empty() ? nullptr : waits.data(), out),
          "clEnqueueNDRangeKernel");
  }

  const std::vector<cl_device_id> devices_;
  const Context context_;
  const Program program_;
  const Kernel add_, copy_;
  Event start_;
  std::map<int, Memory> buffers_;
  std::map<int, Queue> queues_;
  std::vector<std::byte> memory_;
  std::vector<Event> events_;
};

// The calling thread's; others of the machine do not count.
double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// One command, number `i` of `count`.
using Command = std::function<void(Stage&, int i, int count)>;

void chain(Stage& stage, size_t size, int i) {
  cl_event done = nullptr;
  stage.add(stage.queue(i % 2), stage.buffer(size), size, {stage.last() != nullptr ? stage.last() : stage.start()},
            &done);
  stage.keep(done);
}

void write(Stage& stage, size_t size, cl_bool blocking = CL_FALSE) {
  check(clEnqueueWriteBuffer(stage.queue(0), stage.buffer(size), blocking, 0, size, stage.memory(size), 0, nullptr,
                             nullptr),
        "clEnqueueWriteBuffer");
}

void read(Stage& stage, cl_command_queue queue, size_t offset, int count, cl_event* out = nullptr) {
  std::byte* const memory = stage.memory(kSmall + static_cast<size_t>(count) * sizeof(cl_uint));
  check(
      clEnqueueReadBuffer(queue, stage.buffer(kSmall), CL_FALSE, 0, sizeof(cl_uint), memory + offset, 0, nullptr, out),
      "clEnqueueReadBuffer");
}

void map(Stage& stage, size_t offset, int, cl_map_flags flags) {
  cl_int error = CL_SUCCESS;
  clEnqueueMapBuffer(stage.queue(0), stage.buffer(kLarge), CL_FALSE, flags, offset, sizeof(cl_uint), 0, nullptr,
                     nullptr, &error);
  check(error, "clEnqueueMapBuffer");
}

const std::vector<std::pair<std::string, Command>>& commands() {
  static const std::vector<std::pair<std::string, Command>> all{
      {"kernels", [](Stage& stage, int, int) { stage.add(stage.queue(0), stage.buffer(kSmall), kSmall); }},
      {"kernels-events",
       [](Stage& stage, int, int) {
         cl_event done = nullptr;
         stage.add(stage.queue(0), stage.buffer(kSmall), kSmall, {}, &done);
         stage.keep(done);
       }},
      {"unordered",
       [](Stage& stage, int, int) {
         cl_event done = nullptr;
         stage.add(stage.unordered_queue(), stage.buffer(kSmall), kSmall, {stage.start()}, &done);
         stage.keep(done);
       }},
      {"unordered-markers",
       [](Stage& stage, int i, int) {
         cl_command_queue queue = stage.unordered_queue();
         if (i % 100 == 99) return check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, nullptr), "marker");
         stage.add(queue, stage.buffer(kSmall), kSmall, {stage.start()});
       }},
      {"chain", [](Stage& stage, int i, int) { chain(stage, kSmall, i); }},
      {"chain-large", [](Stage& stage, int i, int) { chain(stage, kLarge, i); }},
      {"alternating", [](Stage& stage, int i, int) { stage.add(stage.queue(i % 2), stage.buffer(kSmall), kSmall); }},
      {"alternating-large",
       [](Stage& stage, int i, int) { stage.add(stage.queue(i % 2), stage.buffer(kLarge), kLarge); }},
      {"many-buffers",
       [](Stage& stage, int i, int count) {
         stage.add(stage.queue(i % 2), stage.buffer(kSmall, i % (count / 10)), kSmall);
       }},
      {"many-queues", [](Stage& stage, int i, int) { stage.add(stage.queue(i % 64), stage.buffer(kSmall), kSmall); }},
      {"writes", [](Stage& stage, int, int) { write(stage, kSmall); }},
      {"writes-large", [](Stage& stage, int, int) { write(stage, kLarge); }},
      {"writes-blocking",
       [](Stage& stage, int i, int) {
         write(stage, kSmall);
         stage.add(stage.queue(2 * (i % 2)), stage.buffer(kSmall), kSmall);
       }},
      {"host-reads", [](Stage& stage, int i,
                        int count) { read(stage, stage.queue(0), static_cast<size_t>(i) * sizeof(cl_uint), count); }},
      {"host-reads-events",
       [](Stage& stage, int i, int count) {
         cl_event done = nullptr;
         read(stage, stage.queue(0), static_cast<size_t>(i) * sizeof(cl_uint), count, &done);
         stage.keep(done);
       }},
      {"host-reads-unordered",
       [](Stage& stage, int i, int count) {
         cl_event done = nullptr;
         const cl_event wait = stage.start();
         std::byte* const memory = stage.memory(static_cast<size_t>(count) * sizeof(cl_uint)) + 4 * i;
         check(clEnqueueReadBuffer(stage.unordered_queue(), stage.buffer(kSmall), CL_FALSE, 0, sizeof(cl_uint), memory,
                                   1, &wait, &done),
               "clEnqueueReadBuffer");
         stage.keep(done);
       }},
      {"host-reads-one-place", [](Stage& stage, int, int) { read(stage, stage.queue(0), 0, 1); }},
      {"kernels-after-read",
       [](Stage& stage, int i, int count) {
         read(stage, stage.queue(0), static_cast<size_t>(i) * sizeof(cl_uint), count);
         cl_event done = nullptr;
         stage.add(stage.queue(0), stage.buffer(kSmall), kSmall, {}, &done);
         stage.keep(done);
       }},
      {"uploads",
       [](Stage& stage, int i, int) {
         if (i % 2 == 0) return write(stage, kLarge);
         stage.add(stage.queue(1), stage.buffer(kLarge), kLarge);
       }},
      {"copies",
       [](Stage& stage, int i, int) {
         check(clEnqueueCopyBuffer(stage.queue(i % 2), stage.buffer(kSmall, i % 3), stage.buffer(kSmall, (i + 1) % 3),
                                   0, 0, kSmall, 0, nullptr, nullptr),
               "clEnqueueCopyBuffer");
       }},
      {"ranges",
       [](Stage& stage, int i, int count) {
         const size_t size = static_cast<size_t>(count) * sizeof(cl_uint);
         check(clEnqueueCopyBuffer(stage.queue(i % 2), stage.buffer(size), stage.buffer(size, 1),
                                   static_cast<size_t>(i) * sizeof(cl_uint), static_cast<size_t>(i) * sizeof(cl_uint),
                                   sizeof(cl_uint), 0, nullptr, nullptr),
               "clEnqueueCopyBuffer");
       }},
      {"maps",
       [](Stage& stage, int i, int count) { map(stage, static_cast<size_t>(i) * 4 % kLarge, count, CL_MAP_READ); }},
      {"maps-written",
       [](Stage& stage, int i, int count) {
         map(stage, static_cast<size_t>(i) * 4 % kLarge, count, CL_MAP_WRITE_INVALIDATE_REGION);
       }},
      {"maps-and-kernels",
       [](Stage& stage, int i, int count) {
         map(stage, static_cast<size_t>(i) * 4 % kLarge, count, CL_MAP_WRITE_INVALIDATE_REGION);
         stage.add(stage.queue(i % 2), stage.buffer(kLarge), kLarge);
       }},
      {"unmaps",
       [](Stage& stage, int i, int) {
         cl_int error = CL_SUCCESS;
         void* const mapped =
             clEnqueueMapBuffer(stage.queue(0), stage.buffer(kLarge), CL_FALSE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                kLarge, 0, nullptr, nullptr, &error);
         check(error, "clEnqueueMapBuffer");
         check(clEnqueueUnmapMemObject(stage.queue(i % 2), stage.buffer(kLarge), mapped, 0, nullptr, nullptr),
               "clEnqueueUnmapMemObject");
       }},
      {"buffers",
       [](Stage& stage, int, int) {
         const Memory memory = make_buffer(stage.context(), kSmall);
         stage.add(stage.queue(0), memory.get(), kSmall);
       }},
      {"user-events",
       [](Stage& stage, int, int) {
         cl_int error = CL_SUCCESS;
         const Event held(clCreateUserEvent(stage.context(), &error));
         check(error, "clCreateUserEvent");
         cl_event done = nullptr;
         stage.add(stage.queue(0), stage.buffer(kSmall), kSmall, {held.get(), stage.start()}, &done);
         stage.keep(done);
         check(clSetUserEventStatus(held.get(), CL_COMPLETE), "clSetUserEventStatus");
       }},
      {"callbacks",
       [](Stage& stage, int, int) {
         cl_event done = nullptr;
         stage.add(stage.queue(0), stage.buffer(kSmall), kSmall, {}, &done);
         stage.keep(done);
         check(clSetEventCallback(
                   done, CL_COMPLETE, [](cl_event, cl_int, void*) {}, nullptr),
               "clSetEventCallback");
       }},
  };
  return all;
}

void measure(const std::string& name, const Command& command, int count, cl_platform_id platform,
             const std::vector<cl_device_id>& devices) {
  Stage stage(platform, devices);
  if (name.find("unordered") != std::string::npos && !stage.has_unordered_queues()) return;
  const int last = count - count / 10;
  double before_last = 0;
  for (int i = 0; i < count; ++i) {
    if (i == last) before_last = processor_seconds();
    command(stage, i, count);
  }
  const double enqueued = processor_seconds();
  const double ended = stage.finish();
  const double before_release = processor_seconds();
  stage.release();
  std::printf("%-22s %7d pending: %9.2f us each at the end, %9.2f us each to end, %6.2f us each to release\n",
              name.c_str(), count, (enqueued - before_last) / (count - last) * 1e6, ended / count * 1e6,
              (processor_seconds() - before_release) / count * 1e6);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  CLI::App app{"Measures what a command costs while others are pending."};
  std::string platform = "remotecl";
  std::vector<int> counts{1000, 10000, 20000, 100000};
  std::vector<std::string> names;
  app.add_option("--platform", platform, "A platform's name")->capture_default_str();
  app.add_option("--counts", counts, "How many commands")->delimiter(',')->capture_default_str();
  app.add_option("cases", names, "Which cases; all without any");
  CLI11_PARSE(app, argc, argv);
  for (cl_platform_id found : all_platforms()) {
    if (platform_name(found) != platform) continue;
    const std::vector<cl_device_id> devices = all_devices(found);
    for (const auto& [name, command] : commands()) {
      if (!names.empty() && std::ranges::find(names, name) == names.end()) continue;
      for (const int count : counts) measure(name, command, count, found, devices);
    }
    return 0;
  }
  throw ClError("no OpenCL platform named \"" + platform + "\"");
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  return remotecl::bench::run_bench("remotecl-pending-bench", remotecl::bench::run, argc, argv);
}
