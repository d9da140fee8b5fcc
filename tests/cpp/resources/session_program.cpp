// A session that does a little of everything, on two servers: what resources_test.cpp runs while something cannot be
// had. Exit status: 0, all was right; 1, something was refused, and the output says why; 2, something was wrong.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <iostream>
#include <numeric>
#include <thread>

#include "icd/opencl.h"
#include "remotecl/remotecl.h"

using namespace remotecl::testing;
using namespace std::chrono_literals;

namespace {

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void expect(bool is_right, const char* what) {
  if (!is_right) throw Wrong(what);
}

// A function of remotecl.h, which frees its text and prints what it says of an error.
template <class Call>
void ask(const Call& call) {
  char* error = nullptr;
  char* const answer = call(&error);
  if (error != nullptr) std::cout << error << '\n';
  const bool is_refused = answer == nullptr;
  remotecl_free(answer);
  remotecl_free(error);
  if (is_refused) throw std::runtime_error("there is no answer");
}

void kick(const char* server, std::uint64_t session) {
  char* error = nullptr;
  remotecl_monitor* const monitor = remotecl_monitor_open(server, &error);
  if (monitor == nullptr) {
    const std::string text = error;
    remotecl_free(error);
    throw std::runtime_error(text);
  }
  try {
    ask([&](char** text) { return remotecl_monitor_status_json(monitor, text); });
    ask([&](char** text) { return remotecl_monitor_kick(monitor, session, text); });
  } catch (...) {
    remotecl_monitor_close(monitor);
    throw;
  }
  remotecl_monitor_close(monitor);
}

std::vector<cl_device_id> one_device_of_each_server() {
  cl_platform_id platform = remotecl_platform();
  std::vector<cl_device_id> all(16), first;
  cl_uint count = 0;
  check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, all.data(), &count));
  all.resize(count);
  std::string last;
  for (cl_device_id device : all) {
    const std::string server = text(clGetDeviceInfo, device, CL_DEVICE_REMOTECL_SERVER);
    if (server != std::exchange(last, server)) first.push_back(device);
  }
  if (first.size() != 2) throw std::runtime_error("not every server shows a device");
  return first;
}

// Memory that commands may use as long as the process lives, whatever fails meanwhile.
std::vector<int>& kept(std::size_t count, int value = 0) {
  static auto& all = *new std::deque<std::vector<int>>;
  return all.emplace_back(count, value);
}

void transfer(cl_context context, cl_command_queue queue, cl_kernel add, std::size_t count) {
  std::vector<int>& numbers = kept(count);
  std::iota(numbers.begin(), numbers.end(), 1);
  const Owned<cl_mem> buffer = make_buffer(context, count * sizeof(int));
  check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, 0, count * sizeof(int), numbers.data(), 0, nullptr, nullptr));
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 5));
  check(run(queue, add, count));
  const auto result = read<int>(queue, buffer, count);
  for (std::size_t i = 0; i < count; ++i) expect(result[i] == numbers[i] + 5, "a transfer");
}

// Each server changes what the other has written.
void link(cl_context context, const Owned<cl_command_queue> (&queues)[2], cl_kernel add, std::size_t count) {
  const Owned<cl_mem> buffer = make_buffer(context, std::vector<int>(count, 1));
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 3));
  for (int i = 0; i < 4; ++i) {
    Owned<cl_event> done;
    check(run(queues[i % 2], add, count, {}, done.out()));
    check(clWaitForEvents(1, done.pointer()));
  }
  expect(read<int>(queues[0], buffer, count) == std::vector<int>(count, 13), "a buffer of two servers");
}

void call_back(cl_command_queue queue) {
  static std::atomic<bool> is_called{false};
  Owned<cl_event> marker;
  check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, marker.out()));
  const auto on_end = [](cl_event, cl_int, void*) { is_called = true; };
  check(clSetEventCallback(marker, CL_COMPLETE, on_end, nullptr));
  check(clFinish(queue));
  for (int i = 0; i < 500 && !is_called; ++i) std::this_thread::sleep_for(10ms);
  expect(is_called, "a callback does not come");
}

// The client does this itself.
void copy_on_the_host(cl_command_queue queue) {
  std::vector<int>&from = kept(1000, 7), &to = kept(1000);
  check(clEnqueueSVMMemcpy(queue, CL_FALSE, to.data(), from.data(), from.size() * sizeof(int), 0, nullptr, nullptr));
  check(clFinish(queue));
  expect(to == from, "a copy on the host");
}

void work(const std::string& server, std::uint64_t victim, const std::string& round) {
  const auto devices = one_device_of_each_server();
  const Owned<cl_context> context = make_context(devices);
  const Owned<cl_command_queue> queues[2] = {make_queue(context, devices[0]), make_queue(context, devices[1])};
  // The text is new, so that the servers store what they build.
  const Owned<cl_program> program = build(context, "// " + round + "\nadd_mv fill_mv");
  const Owned<cl_kernel> add = make_kernel(program, "add_mv");
  for (const auto& queue : queues) {
    for (const std::size_t count : {1u << 8, 1u << 18, 1u << 21}) transfer(context, queue, add, count);
  }
  for (const std::size_t count : {1u << 8, 1u << 18}) link(context, queues, add, count);
  const Owned<cl_program> talkative = build(context, "// " + round + "\nadd_mv printf(\"\");");
  const Owned<cl_kernel> print = make_kernel(talkative, "add_mv");
  transfer(context, queues[0], print, 1u << 8);
  call_back(queues[0]);
  copy_on_the_host(queues[0]);
  ask([](char**) { return remotecl_status_json(); });
  if (victim != 0) kick(server.c_str(), victim);
  for (const auto& queue : queues) check(clFinish(queue));
}

}  // namespace

// SERVER VICTIM ROUND: the session that it ends on that server, and a word that no other round has.
int main(int argc, char** argv) {
  ::dup2(STDOUT_FILENO, STDERR_FILENO);
  if (argc != 4) return 2;
  try {
    work(argv[1], std::stoull(argv[2]), argv[3]);
  } catch (const Wrong& wrong) {
    std::cout << "WRONG: " << wrong.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cout << error.what() << '\n';
    return 1;
  }
  return 0;
}
