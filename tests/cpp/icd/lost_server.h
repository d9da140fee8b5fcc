#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include "icd/fixture.h"

namespace remotecl::testing {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Each test takes a server of its own; the last two are never killed.
inline constexpr int kServers = 20;

class LostServerTest : public ::testing::Test {
 protected:
  LostServerTest() {
    static std::size_t next = 0;
    index_ = next++;
    if (index_ >= kServers - 2) throw std::runtime_error("kServers is too small");
    context_ = make_context({device(), survivor()});
    queue_ = make_queue(context_, device());
    other_ = make_queue(context_, survivor());
    program_ = build(context_, kSource);
  }

  cl_device_id device() { return Environment::get().devices()[index_]; }
  cl_device_id survivor() { return Environment::get().devices().back(); }
  void kill_server() { Environment::get().daemon(index_).kill(); }
  // A command on the doomed server that does not end by itself.
  Owned<cl_event> start_endless() {
    spin_ = make_kernel(program_, "spin");
    spun_ = make_buffer(context_, std::vector<int>(64, 0));
    check(set_arg(spin_, 0, spun_));
    check(set_arg(spin_, 1, 2'000'000'000));
    Owned<cl_event> done;
    check(run(queue_, spin_, 64, {}, done.out()));
    check(clFlush(queue_));
    return done;
  }
  // Runs the calls in threads of their own, kills the server, and gives their results; all must come within a
  // second.
  std::vector<cl_int> results_after_kill(std::vector<std::function<cl_int()>> calls) {
    std::vector<std::future<cl_int>> futures;
    for (auto& call : calls) futures.push_back(std::async(std::launch::async, std::move(call)));
    std::this_thread::sleep_for(100ms);  // so that they wait
    for (auto& future : futures) EXPECT_EQ(future.wait_for(0s), std::future_status::timeout) << "did not wait";
    kill_server();
    const auto end = Clock::now() + 1s;
    std::vector<cl_int> results;
    for (auto& future : futures) {
      EXPECT_EQ(future.wait_until(end), std::future_status::ready) << "call " << results.size();
      results.push_back(future.get());
    }
    return results;
  }

  std::size_t index_ = 0;
  Owned<cl_context> context_;
  Owned<cl_command_queue> queue_, other_;
  Owned<cl_program> program_;
  Owned<cl_kernel> spin_;
  Owned<cl_mem> spun_;
};

}  // namespace remotecl::testing
