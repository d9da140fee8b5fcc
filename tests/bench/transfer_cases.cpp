#include <cstdint>

#include "cases.h"
#include "pattern.h"
#include "remotecl/remotecl.h"
#include "units.h"

namespace remotecl::bench {
namespace {

// The application's memory is shared by the sides of a case, the device's buffer is each side's own.
struct HostMemory {
  explicit HostMemory(size_t size) : source(size), received(size) {}
  Pattern source;
  std::vector<uint8_t> received;
};
using SharedMemory = std::shared_ptr<HostMemory>;

struct DeviceBuffer {
  DeviceBuffer(const ClSide& owner, SharedMemory memory)
      : side(owner), host(std::move(memory)), buffer(owner.make_buffer(host->source.size())) {
    upload();
  }

  size_t size() const { return host->source.size(); }
  void upload() const {
    write();
    ClSide::finish(side.queue());
  }
  void write() const { ClSide::write(side.queue(), buffer, host->source.data(), size()); }
  void read() const { ClSide::read(side.queue(), buffer, host->received.data(), size()); }
  void spoil() const { host->source.spoil(host->received); }
  void expect_source(const char* what) const {
    host->source.expect_equal(host->received, std::string(what) + " on " + side.choice().platform_name);
  }

  const ClSide& side;
  SharedMemory host;
  Memory buffer;
};

enum class Until { kReturned, kFinished };

// A blocking write only promises that the host's memory may be reused, so the time until the data is on the
// device needs clFinish.
Runner write_runner(const ClSide& side, const SharedMemory& host, Until until) {
  auto device = std::make_shared<DeviceBuffer>(side, host);
  return {[device, until] {
            device->host->source.restamp();
            const Stopwatch watch;
            device->write();
            double seconds = watch.seconds();
            ClSide::finish(device->side.queue());
            if (until == Until::kFinished) seconds = watch.seconds();
            return seconds;
          },
          [device] {
            device->spoil();
            device->read();
            device->expect_source("write");
          }};
}

Runner read_runner(const ClSide& side, const SharedMemory& host) {
  auto device = std::make_shared<DeviceBuffer>(side, host);
  return {[device] {
            device->spoil();
            const Stopwatch watch;
            device->read();
            const double seconds = watch.seconds();
            device->expect_source("read");
            return seconds;
          },
          {}};
}

std::optional<Case> small_write(const Bench& bench, size_t size, Until until) {
  auto host = std::make_shared<HostMemory>(size);
  Case result;
  result.small = true;
  if (until == Until::kFinished) result.target = Target{1, 1, 10, "raw + native + 10 us"};
  result.plan = small_plan(bench.options);
  result.runners = on_both(bench, [&](const ClSide& side) { return write_runner(side, host, until); });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

std::optional<Case> small_read(const Bench& bench, size_t size) {
  auto host = std::make_shared<HostMemory>(size);
  Case result;
  result.small = true;
  result.target = Target{1, 1, 10, "raw + native + 10 us"};
  result.plan = small_plan(bench.options);
  result.runners = on_both(bench, [&](const ClSide& side) { return read_runner(side, host); });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

// Blocking write, then blocking read of the same buffer: the exchange that Nagle's algorithm ruins.
std::optional<Case> write_read_pair(const Bench& bench) {
  auto host = std::make_shared<HostMemory>(4 * kKiB);
  Case result;
  result.small = true;
  result.plan = small_plan(bench.options);
  result.runners = on_both(bench, [&](const ClSide& side) -> Runner {
    auto device = std::make_shared<DeviceBuffer>(side, host);
    return {[device] {
              device->host->source.restamp();
              device->spoil();
              const Stopwatch watch;
              device->write();
              device->read();
              const double seconds = watch.seconds();
              device->expect_source("write and read");
              return seconds;
            },
            {}};
  });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

Runner triple_runner(const ClSide& side) {
  struct Buffers {
    Memory in;
    Memory out;
    cl_int value = 0;
  };
  auto buffers = std::make_shared<Buffers>(Buffers{side.make_buffer(sizeof(cl_int)), side.make_buffer(sizeof(cl_int))});
  cl_mem arguments[] = {buffers->in.get(), buffers->out.get()};
  check(clSetKernelArg(side.passthrough(), 0, sizeof(cl_mem), &arguments[0]), "clSetKernelArg");
  check(clSetKernelArg(side.passthrough(), 1, sizeof(cl_mem), &arguments[1]), "clSetKernelArg");
  return {[buffers, &side] {
            ++buffers->value;
            cl_int received = 0;
            const Stopwatch watch;
            ClSide::write(side.queue(), buffers->in, &buffers->value, sizeof(cl_int), CL_FALSE);
            ClSide::enqueue(side.queue(), side.passthrough());
            ClSide::read(side.queue(), buffers->out, &received, sizeof received);
            const double seconds = watch.seconds();
            if (received != buffers->value) throw DataError("write, kernel, read on " + side.choice().platform_name);
            return seconds;
          },
          {}};
}

std::optional<Case> write_kernel_read(const Bench& bench) {
  Case result;
  result.small = true;
  result.target = Target{1, 1, 15, "raw + native + 15 us"};
  result.plan = small_plan(bench.options);
  result.runners = on_both(bench, triple_runner);
  result.runners.raw = raw_round_trip(bench);
  return result;
}

Plan bulk_plan(const Options& options, size_t size) {
  if (options.quick) return {.repetitions = size > kMiB ? 3u : 20u, .block = 1, .warm_up = 1};
  if (size <= kMiB) return {.repetitions = 200, .block = 10, .warm_up = 10};
  return {.repetitions = size <= 64 * kMiB ? 15u : 7u, .block = 1, .warm_up = 1};
}

bool fits(const Bench& bench, size_t size) {
  return size <= bench.remotecl.max_allocation() && (!bench.native || size <= bench.native->max_allocation());
}

// Connections that bulk data goes over; 0: memory.
cl_uint streams(const Bench& bench) {
  return device_value<cl_uint>(bench.remotecl.choice().device, CL_DEVICE_REMOTECL_BULK_STREAMS);
}

Case bulk_case(const Bench& bench, size_t size) {
  Case result;
  result.unit = Unit::kGigabytesPerSecond;
  result.amount = static_cast<double>(size);
  result.ceiling = Ceiling::kRaw;
  if (size == kMiB) {
    result.target = Target{0.8, 0, 0, "80 % of raw"};
  } else if (size == 64 * kMiB && bench.shares_memory && bench.native) {
    result.target = Target{0, 0.7, 0, "70 % of native"};
  } else if (const cl_uint count = streams(bench); count > 1) {
    result.target = Target{1.5, 0, 0, "150 % of raw, " + std::to_string(count) + " streams"};
  } else {
    result.target = Target{0.95, 0, 0, count == 1 ? "95 % of raw, 1 stream" : "95 % of raw, memory"};
  }
  result.plan = bulk_plan(bench.options, size);
  return result;
}

std::optional<Case> bulk_write(const Bench& bench, size_t size) {
  if (!fits(bench, size)) return std::nullopt;
  auto host = std::make_shared<HostMemory>(size);
  Case result = bulk_case(bench, size);
  result.runners = on_both(bench, [&](const ClSide& side) { return write_runner(side, host, Until::kFinished); });
  result.runners.raw = {[&raw = bench.raw, host, size] { return raw.send_bulk(host->source.data(), size); }, {}};
  return result;
}

std::optional<Case> bulk_read(const Bench& bench, size_t size) {
  if (!fits(bench, size)) return std::nullopt;
  auto host = std::make_shared<HostMemory>(size);
  Case result = bulk_case(bench, size);
  result.runners = on_both(bench, [&](const ClSide& side) { return read_runner(side, host); });
  result.runners.raw = {[&raw = bench.raw, host, size] { return raw.receive_bulk(host->received.data(), size); }, {}};
  return result;
}

// No ceiling of anything, for there is a copy less: only tells what the stream itself can carry.
std::optional<Case> raw_discarded(const Bench& bench) {
  auto source = std::make_shared<Pattern>(64 * kMiB);
  Case result = bulk_case(bench, source->size());
  result.target.reset();
  result.runners.raw = {[&raw = bench.raw, source] { return raw.send_discarded(source->data(), source->size()); }, {}};
  return result;
}

// What several connections carry at best: as many as remotecl uses, or four.
std::optional<Case> raw_striped(const Bench& bench) {
  auto source = std::make_shared<Pattern>(64 * kMiB);
  const size_t count = streams(bench) > 1 ? streams(bench) : 4;
  Case result = bulk_case(bench, source->size());
  result.target.reset();
  result.runners.raw = {
      [&raw = bench.raw, source, count] { return raw.send_bulk_over(count, source->data(), source->size()); }, {}};
  return result;
}

}  // namespace

void add_small_transfer_cases(std::vector<CaseEntry>& cases) {
  for (const size_t size : {size_t{4}, 4 * kKiB}) {
    const std::string suffix = size == 4 ? "-4B" : "-4KiB";
    cases.push_back({"write" + suffix + "-return",
                     [size](const Bench& bench) { return small_write(bench, size, Until::kReturned); }});
    cases.push_back({"write" + suffix + "-finish",
                     [size](const Bench& bench) { return small_write(bench, size, Until::kFinished); }});
    cases.push_back({"read" + suffix, [size](const Bench& bench) { return small_read(bench, size); }});
  }
  cases.push_back({"write-kernel-read-4B", write_kernel_read});
  cases.push_back({"write-read-pair-4KiB", write_read_pair});
}

void add_bulk_transfer_cases(std::vector<CaseEntry>& cases) {
  for (const size_t mebibytes : {1, 64, 256}) {
    const std::string suffix = "-" + std::to_string(mebibytes) + "MiB";
    const size_t size = mebibytes * kMiB;
    cases.push_back({"write" + suffix, [size](const Bench& bench) { return bulk_write(bench, size); }});
    cases.push_back({"read" + suffix, [size](const Bench& bench) { return bulk_read(bench, size); }});
  }
  cases.push_back({"raw-discarded-64MiB", raw_discarded});
  cases.push_back({"raw-striped-64MiB", raw_striped});
}

}  // namespace remotecl::bench
