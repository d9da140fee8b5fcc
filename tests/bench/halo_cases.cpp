#include <algorithm>
#include <cstdint>

#include "cases.h"
#include "host_copies.h"
#include "pattern.h"
#include "units.h"

namespace remotecl::bench {
namespace {

constexpr size_t kSmallHalo = 64 * kKiB;

struct HaloSize {
  const char* name;
  size_t bytes;
};
constexpr HaloSize kHaloSizes[] = {
    {"64KiB", kSmallHalo}, {"512KiB", 512 * kKiB}, {"2.5MiB", 2560 * kKiB}, {"10MiB", 10 * kMiB}};

enum class Phase { kRead, kWrite };

// A simulation whose domain is divided over the devices. In each step kernels make every device's border, which the
// host reads, and the host writes every device's new one. Commands are enqueued on all devices, without flushes, and
// then waited for on one device after the other.
class Halo {
 public:
  Halo(const Fleet& fleet, size_t size) : fleet_(fleet), size_(size) {
    for (size_t index = 0; index < fleet.size(); ++index) {
      borders_.push_back({fleet.make_buffer(size), fleet.make_buffer(sizeof(cl_int)), std::vector<cl_uint>(words()),
                          std::vector<cl_uint>(words())});
    }
  }

  // A whole step; the seconds that one of its phases took.
  double step(Phase timed) {
    const double reading = read();
    const double writing = write();
    return timed == Phase::kRead ? reading : writing;
  }

 private:
  struct Border {
    Memory device;
    Memory matching;
    std::vector<cl_uint> received;
    std::vector<cl_uint> source;
  };

  size_t words() const { return size_ / sizeof(cl_uint); }

  double read() {
    ++seed_;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      fleet_.produce(index, borders_[index].device, size_, seed_ + static_cast<cl_uint>(index));
      for (cl_uint& word : borders_[index].received) word = ~word;
    }
    fleet_.finish_all();
    const Stopwatch watch;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      Border& border = borders_[index];
      check(clEnqueueReadBuffer(fleet_.queue(index), border.device.get(), CL_FALSE, 0, size_, border.received.data(), 0,
                                nullptr, nullptr),
            "clEnqueueReadBuffer");
    }
    for (size_t index = 0; index < fleet_.size(); ++index) fleet_.finish(index);
    const double seconds = watch.seconds();
    for (size_t index = 0; index < fleet_.size(); ++index) verify_received(index);
    return seconds;
  }

  double write() {
    seed_ += static_cast<cl_uint>(fleet_.size());
    for (size_t index = 0; index < fleet_.size(); ++index) fill_source(index);
    const Stopwatch watch;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      const Border& border = borders_[index];
      check(clEnqueueWriteBuffer(fleet_.queue(index), border.device.get(), CL_FALSE, 0, size_, border.source.data(), 0,
                                 nullptr, nullptr),
            "clEnqueueWriteBuffer");
    }
    for (size_t index = 0; index < fleet_.size(); ++index) fleet_.finish(index);
    const double seconds = watch.seconds();
    for (size_t index = 0; index < fleet_.size(); ++index) verify_written(index);
    seed_ += static_cast<cl_uint>(fleet_.size());
    return seconds;
  }

  void fill_source(size_t index) {
    const cl_uint seed = seed_ + static_cast<cl_uint>(index);
    std::vector<cl_uint>& source = borders_[index].source;
    for (cl_uint i = 0; i < source.size(); ++i) source[i] = produced_word(i, seed);
  }

  void verify_received(size_t index) const {
    const cl_uint seed = seed_ + static_cast<cl_uint>(index);
    const std::vector<cl_uint>& received = borders_[index].received;
    for (cl_uint i = 0; i < received.size(); ++i) {
      if (received[i] != produced_word(i, seed)) throw DataError("halo read on " + fleet_.name());
    }
  }

  void verify_written(size_t index) const {
    const cl_uint seed = seed_ + static_cast<cl_uint>(index);
    fleet_.write_int(index, borders_[index].matching, 0);
    fleet_.consume(index, borders_[index].device, size_, seed, borders_[index].matching);
    if (fleet_.read_int(index, borders_[index].matching) != static_cast<cl_int>(words())) {
      throw DataError("halo write on " + fleet_.name());
    }
  }

  const Fleet& fleet_;
  const size_t size_;
  std::vector<Border> borders_;
  cl_uint seed_ = 0;
};

Plan halo_plan(const Options& options, size_t size) {
  if (options.quick) return {.repetitions = 5, .block = 5, .warm_up = 2};
  return {.repetitions = std::clamp<size_t>(40 * kMiB / size, 15, 300), .block = 5, .warm_up = 5};
}

// What the devices' transfers take over a TCP stream each, all at once.
Runner raw_streams(const Bench& bench, size_t count, size_t size, Phase phase) {
  auto memory = std::make_shared<std::vector<uint8_t>>(count * size);
  if (phase == Phase::kRead) {
    return {[&raw = bench.raw, memory, count] { return raw.receive_bulk_over(count, memory->data(), memory->size()); },
            {}};
  }
  return {[&raw = bench.raw, memory, count] { return raw.send_bulk_over(count, memory->data(), memory->size()); }, {}};
}

std::optional<Case> halo(const Bench& bench, Reach reach, size_t size, Phase phase) {
  const size_t count = bench.fleets.remotecl_devices(reach).size();
  Case result;
  result.plan = halo_plan(bench.options, size);
  result.runners = on_all_devices(bench, reach, [size, phase](const Fleet& fleet) -> Runner {
    auto program = std::make_shared<Halo>(fleet, size);
    return {[program, phase] { return program->step(phase); }, {}};
  });
  if (size == kSmallHalo) {
    result.target = Target{1, 1, 50, "raw + native + 50 us" + on_devices(count)};
    result.runners.raw = raw_round_trip(bench);
    return result;
  }
  result.ceiling = Ceiling::kSlower;
  result.target = Target{.rule = "1.3 x the slower of native and memory copies" + on_devices(count), .ceiling = 1.3};
  auto copies = std::make_shared<HostCopies>(2 * count, size);
  result.runners.base = {[copies] { return copies->run(); }, {}};
  result.runners.raw = raw_streams(bench, count, size, phase);
  return result;
}

}  // namespace

void add_halo_cases(std::vector<CaseEntry>& cases, Reach reach) {
  for (const HaloSize& size : kHaloSizes) {
    for (const Phase phase : {Phase::kRead, Phase::kWrite}) {
      const std::string name = std::string("halo-") + size.name + (phase == Phase::kRead ? "-read" : "-write");
      cases.push_back(devices_entry(name, reach, [reach, bytes = size.bytes, phase](const Bench& bench) {
        return halo(bench, reach, bytes, phase);
      }));
    }
  }
}

}  // namespace remotecl::bench
