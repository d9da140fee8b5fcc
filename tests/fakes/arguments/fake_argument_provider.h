#pragma once

#include <atomic>
#include <utility>

#include "server/arguments/argument_provider.h"

namespace remotecl::testing {

// What has happened to the arguments of a FakeArgumentProvider.
struct ArgumentLog {
  std::atomic<int> begun{0}, ended{0}, stopped{0}, destroyed{0};
};

// A plain buffer that counts what is done with it.
class FakeArgument final : public server::ProvidedArgument {
 public:
  FakeArgument(std::uint64_t size, ArgumentLog& log, Ref<server::SessionCounters> counters)
      : ProvidedArgument(nullptr, std::move(counters)), size_(size), log_(log) {}
  ~FakeArgument() override { ++log_.destroyed; }

  void command_begins() override { ++log_.begun; }
  void command_ended() override { ++log_.ended; }
  void stop() override { ++log_.stopped; }

 private:
  cl_int make(server::Device& device, Native& native) override {
    cl_int error = CL_SUCCESS;
    const cl_context context = device.context(error);
    if (context != nullptr) native.memory = clCreateBuffer(context, CL_MEM_READ_WRITE, size_, nullptr, &error);
    return error;
  }

  const std::uint64_t size_;
  ArgumentLog& log_;
};

// The arguments of one session. Each has `sockets` times `ring_bytes` bytes; there is none without sockets.
class FakeSessionArguments final : public server::SessionArguments {
 public:
  FakeSessionArguments(ArgumentLog& log, Ref<server::SessionCounters> counters)
      : log_(log), counters_(std::move(counters)) {}

  Made make(const CreateNetwork& wanted, server::Device& device) override {
    if (wanted.sockets == 0) return {nullptr, 0, CL_INVALID_VALUE, "no sockets"};
    const std::uint64_t size = std::uint64_t{wanted.sockets} * wanted.ring_bytes;
    const auto argument = make_ref<FakeArgument>(size, log_, counters_);
    cl_mem memory = nullptr;
    server::session_lock.assume_held();  // nobody else has it yet
    const cl_int error = argument->native(device, memory);
    if (error != CL_SUCCESS) return {nullptr, 0, error, "the driver refuses"};
    return {argument, size, CL_SUCCESS, ""};
  }
  void stop() override { ++log_.stopped; }

 private:
  ArgumentLog& log_;
  const Ref<server::SessionCounters> counters_;
};

// The double of ArgumentProvider.
class FakeArgumentProvider final : public server::ArgumentProvider {
 public:
  explicit FakeArgumentProvider(ArgumentLog& log) : log_(log) {}

  Header header() const override { return {"fake/seven.cl", "int seven(void) { return 7; }\n"}; }
  bool serves(server::Device&) const override { return true; }
  Ref<server::SessionArguments> begin(const server::Grant&, std::uint64_t,
                                      const Ref<server::SessionCounters>& counters) const override {
    return make_ref<FakeSessionArguments>(log_, counters);
  }

 private:
  ArgumentLog& log_;
};

}  // namespace remotecl::testing
