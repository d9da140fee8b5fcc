#include <array>
#include <cstdint>

#include "cases.h"
#include "pattern.h"
#include "units.h"

namespace remotecl::bench {
namespace {

constexpr size_t kFanOutBytes = 256 * kMiB;
constexpr size_t kFrameBytes = 16 * kMiB;
constexpr size_t kFrameBuffers = 3;

constexpr cl_int words_in(size_t bytes) { return static_cast<cl_int>(bytes / sizeof(cl_uint)); }

// A buffer that the first place makes anew and the others then get.
class FannedOut {
 public:
  explicit FannedOut(const Fleet& fleet)
      : fleet_(fleet), data_(fleet.make_buffer(kFanOutBytes)), matching_(fleet.make_buffer(sizeof(cl_int))) {}

  double send_to(size_t receivers) {
    ++seed_;
    fleet_.produce(0, data_, kFanOutBytes, seed_);
    fleet_.finish_all();
    const Stopwatch watch;
    for (size_t index = 1; index <= receivers; ++index) fleet_.migrate(index, data_);
    fleet_.finish_all();
    const double seconds = watch.seconds();
    for (size_t index = 1; index <= receivers; ++index) verify(index);
    return seconds;
  }

 private:
  void verify(size_t index) const {
    fleet_.write_int(index, matching_, 0);
    fleet_.consume(index, data_, kFanOutBytes, seed_, matching_);
    if (fleet_.read_int(index, matching_) != words_in(kFanOutBytes)) {
      throw DataError("fan-out, receiver " + std::to_string(index) + " on " + fleet_.name());
    }
  }

  const Fleet& fleet_;
  Memory data_;
  Memory matching_;
  cl_uint seed_ = 0;
};

std::optional<Case> fan_out(const Bench& bench) {
  if (!fleets_fit(bench, kFanOutBytes)) return std::nullopt;
  const size_t receivers = 3;
  Case result;
  result.unit = Unit::kMilliseconds;
  result.ceiling = Ceiling::kRaw;
  result.target = Target{.rule = "1.5 x one receiver", .base = 1.5};
  result.plan = {.repetitions = bench.options.quick ? 2u : 9u, .block = 1, .warm_up = 1};
  auto data = std::make_shared<FannedOut>(bench.fleets.remotecl());
  result.runners.remotecl = {[data] { return data->send_to(receivers); }, {}};
  result.runners.base = {[data] { return data->send_to(1); }, {}};
  if (const Fleet* native = bench.fleets.native()) result.runners.native = copy_runner(*native, kFanOutBytes);
  result.runners.raw = raw_stream(bench, kFanOutBytes);
  return result;
}

// The first place makes frames, the second one uses them up, with as many on their way as there are buffers.
class Frames {
 public:
  Frames(const Fleet& fleet, size_t count)
      : fleet_(fleet), count_(count), matching_(fleet.make_buffer(sizeof(cl_int))) {
    for (Memory& buffer : buffers_) buffer = fleet.make_buffer(kFrameBytes);
  }

  double pipeline() {
    fleet_.write_int(1, matching_, 0);
    fleet_.finish_all();
    std::array<Event, kFrameBuffers> used_up;
    const Stopwatch watch;
    for (size_t frame = 0; frame < count_; ++frame) {
      const Memory& buffer = buffers_[frame % kFrameBuffers];
      Event& last_use = used_up[frame % kFrameBuffers];
      cl_event produced = nullptr;
      fleet_.produce(0, buffer, kFrameBytes, ++seed_, last_use.get(), &produced);
      fleet_.flush(0);
      const Event owner(produced);
      cl_event consumed = nullptr;
      fleet_.consume(1, buffer, kFrameBytes, seed_, matching_, produced, &consumed);
      fleet_.flush(1);
      last_use.reset(consumed);
    }
    fleet_.finish(1);
    const double seconds = watch.seconds();
    verify();
    return seconds;
  }

  // As many frames, each moved alone: the time of the transfers only.
  double one_by_one() {
    fleet_.write_int(1, matching_, 0);
    double seconds = 0;
    for (size_t frame = 0; frame < count_; ++frame) {
      const Memory& buffer = buffers_[frame % kFrameBuffers];
      fleet_.produce(0, buffer, kFrameBytes, ++seed_);
      fleet_.finish_all();
      const Stopwatch watch;
      fleet_.migrate(1, buffer);
      fleet_.finish(1);
      seconds += watch.seconds();
      fleet_.consume(1, buffer, kFrameBytes, seed_, matching_);
      fleet_.finish(1);
    }
    verify();
    return seconds;
  }

 private:
  void verify() const {
    if (fleet_.read_int(1, matching_) != words_in(kFrameBytes) * static_cast<cl_int>(count_)) {
      throw DataError("frames on " + fleet_.name());
    }
  }

  const Fleet& fleet_;
  const size_t count_;
  Memory matching_;
  std::array<Memory, kFrameBuffers> buffers_;
  cl_uint seed_ = 0;
};

std::optional<Case> two_stages(const Bench& bench) {
  const size_t count = bench.options.quick ? 6 : 24;
  Case result;
  result.unit = Unit::kGigabytesPerSecond;
  result.amount = static_cast<double>(count * kFrameBytes);
  result.ceiling = Ceiling::kBase;
  result.plan = {.repetitions = bench.options.quick ? 2u : 9u, .block = 1, .warm_up = 1};
  result.runners = on_both_fleets(bench, [count](const Fleet& fleet) -> Runner {
    auto frames = std::make_shared<Frames>(fleet, count);
    return {[frames] { return frames->pipeline(); }, {}};
  });
  auto lone = std::make_shared<Frames>(bench.fleets.remotecl(), count);
  result.runners.base = {[lone] { return lone->one_by_one(); }, {}};
  const Runner stream = raw_stream(bench, kFrameBytes);
  result.runners.raw = {[stream, count] {
                          double seconds = 0;
                          for (size_t frame = 0; frame < count; ++frame) seconds += stream.sample();
                          return seconds;
                        },
                        {}};
  return result;
}

}  // namespace

void add_fan_out_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"fan-out-256MiB-to-3", fan_out, 4});
  cases.push_back({"two-stages-16MiB-frames", two_stages, 2});
}

}  // namespace remotecl::bench
