#include <cstdint>

#include "cases.h"
#include "host_copies.h"
#include "pattern.h"

namespace remotecl::bench {
namespace {

constexpr size_t kArrayBytes = size_t{64} * 1024 * 1024;

// An array of the host of which every device gets a part, changes it and gives it back.
class ScatteredArray {
 public:
  explicit ScatteredArray(const Fleet& fleet) : fleet_(fleet), array_(kArrayBytes / sizeof(cl_uint)) {
    const size_t pages = kArrayBytes / kPageBytes;
    for (size_t index = 0; index < fleet.size(); ++index) {
      const size_t begin = pages * index / fleet.size() * kPageBytes;
      const size_t size = pages * (index + 1) / fleet.size() * kPageBytes - begin;
      parts_.push_back({begin, size, fleet.make_buffer(size)});
    }
  }

  // There and back, without the devices' work in between.
  double scatter_and_gather() {
    ++seed_;
    for (cl_uint i = 0; i < array_.size(); ++i) array_[i] = produced_word(i, seed_);
    const double there = scatter();
    for (size_t index = 0; index < fleet_.size(); ++index) {
      fleet_.add(index, parts_[index].device, parts_[index].size, seed_);
    }
    fleet_.finish_all();
    const double back = gather();
    for (cl_uint i = 0; i < array_.size(); ++i) {
      if (array_[i] != produced_word(i, seed_) + seed_) throw DataError("scattered array on " + fleet_.name());
    }
    return there + back;
  }

 private:
  struct Part {
    size_t begin;
    size_t size;
    Memory device;
  };

  uint8_t* host(const Part& part) { return reinterpret_cast<uint8_t*>(array_.data()) + part.begin; }

  double scatter() {
    const Stopwatch watch;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      const Part& part = parts_[index];
      check(clEnqueueWriteBuffer(fleet_.queue(index), part.device.get(), CL_FALSE, 0, part.size, host(part), 0, nullptr,
                                 nullptr),
            "clEnqueueWriteBuffer");
    }
    for (size_t index = 0; index < fleet_.size(); ++index) fleet_.finish(index);
    return watch.seconds();
  }

  double gather() {
    const Stopwatch watch;
    for (size_t index = 0; index < fleet_.size(); ++index) {
      const Part& part = parts_[index];
      check(clEnqueueReadBuffer(fleet_.queue(index), part.device.get(), CL_FALSE, 0, part.size, host(part), 0, nullptr,
                                nullptr),
            "clEnqueueReadBuffer");
    }
    for (size_t index = 0; index < fleet_.size(); ++index) fleet_.finish(index);
    return watch.seconds();
  }

  const Fleet& fleet_;
  std::vector<cl_uint> array_;
  std::vector<Part> parts_;
  cl_uint seed_ = 0;
};

std::optional<Case> scatter_gather(const Bench& bench, Reach reach) {
  const size_t count = bench.fleets.remotecl_devices(reach).size();
  Case result;
  result.unit = Unit::kGigabytesPerSecond;
  result.amount = 2.0 * kArrayBytes;
  result.ceiling = Ceiling::kSlower;
  result.target =
      Target{.rule = "1 / 1.3 of the slower of native and memory copies" + on_devices(count), .ceiling = 1 / 1.3};
  result.plan = {.repetitions = bench.options.quick ? 2u : 15u, .block = 1, .warm_up = 2};
  result.runners = on_all_devices(bench, reach, [](const Fleet& fleet) -> Runner {
    auto array = std::make_shared<ScatteredArray>(fleet);
    return {[array] { return array->scatter_and_gather(); }, {}};
  });
  auto copies = std::make_shared<HostCopies>(2 * count, kArrayBytes / count);
  result.runners.base = {[copies] { return 2 * copies->run(); }, {}};
  auto memory = std::make_shared<std::vector<uint8_t>>(kArrayBytes);
  result.runners.raw = {[&raw = bench.raw, memory, count] {
                          return raw.send_bulk_over(count, memory->data(), memory->size()) +
                                 raw.receive_bulk_over(count, memory->data(), memory->size());
                        },
                        {}};
  return result;
}

}  // namespace

void add_scatter_cases(std::vector<CaseEntry>& cases, Reach reach) {
  cases.push_back(
      devices_entry("scatter-gather", reach, [reach](const Bench& bench) { return scatter_gather(bench, reach); }));
}

}  // namespace remotecl::bench
