#include <cstdint>
#include <utility>

#include "cases.h"
#include "pattern.h"
#include "units.h"

namespace remotecl::bench {
namespace {

constexpr size_t kHops = 100;

// cl_pocl_content_size, which the headers do not have.
using SetContentSizeBuffer = cl_int(CL_API_CALL*)(cl_mem buffer, cl_mem content_size_buffer);

SetContentSizeBuffer find_set_content_size(const Fleet& fleet) {
  return reinterpret_cast<SetContentSizeBuffer>(
      clGetExtensionFunctionAddressForPlatform(fleet.platform(), "clSetContentSizeBufferPoCL"));
}

// A counter whose newest value goes back and forth between two places.
class MigratedCounter {
 public:
  explicit MigratedCounter(const Fleet& fleet) : fleet_(fleet), counter_(fleet.make_buffer(sizeof(cl_int))) {
    fleet_.write_int(from_, counter_, 0);
  }

  double migrate() {
    fleet_.increment(from_, counter_);
    fleet_.finish(from_);
    ++expected_;
    const Stopwatch watch;
    fleet_.migrate(to_, counter_);
    fleet_.finish(to_);
    const double seconds = watch.seconds();
    std::swap(from_, to_);
    return seconds;
  }

  void verify() const {
    if (fleet_.read_int(from_, counter_) != expected_) throw DataError("migrated counter on " + fleet_.name());
  }

 private:
  const Fleet& fleet_;
  Memory counter_;
  size_t from_ = 0;
  size_t to_ = 1;
  cl_int expected_ = 0;
};

Runner counter_runner(const Fleet& fleet) {
  auto counter = std::make_shared<MigratedCounter>(fleet);
  return {[counter] { return counter->migrate(); }, [counter] { counter->verify(); }};
}

std::optional<Case> migrate_small(const Bench& bench) {
  Case result;
  result.target = Target{3, 0, 30, "3 raw round trips + 30 us"};
  result.plan = small_plan(bench.options);
  result.runners = on_both_fleets(bench, counter_runner);
  result.runners.raw = raw_round_trip(bench);
  return result;
}

// Every kernel needs the value of the one before, which ran at the other place. The host waits for the last one only.
double run_hops(const Fleet& fleet, const Memory& counter) {
  const Stopwatch watch;
  Event previous;
  for (size_t hop = 0; hop < kHops; ++hop) {
    cl_event next = nullptr;
    fleet.increment(hop % 2, counter, previous.get(), &next);
    previous.reset(next);
  }
  fleet.flush(0);
  fleet.finish((kHops - 1) % 2);
  return watch.seconds() / kHops;
}

std::optional<Case> alternating_kernels(const Bench& bench) {
  Case result;
  result.target = Target{2, 1, 0, "2 raw round trips + native"};
  result.plan = {.repetitions = bench.options.quick ? 5u : 100u, .block = 5, .warm_up = 5};
  result.runners = on_both_fleets(bench, [](const Fleet& fleet) -> Runner {
    struct Chain {
      Memory counter;
      cl_int expected = 0;
    };
    auto chain = std::make_shared<Chain>(Chain{fleet.make_buffer(sizeof(cl_int))});
    fleet.write_int(0, chain->counter, 0);
    return {[chain, &fleet] {
              chain->expected += kHops;
              return run_hops(fleet, chain->counter);
            },
            [chain, &fleet] {
              if (fleet.read_int(0, chain->counter) != chain->expected) {
                throw DataError("alternating kernels on " + fleet.name());
              }
            }};
  });
  result.runners.raw = raw_round_trip(bench);
  return result;
}

// A buffer of which the first `content` bytes are made anew at one place, migrated and checked at the other. Without
// content size that is all of it.
class MigratedData {
 public:
  MigratedData(const Fleet& fleet, size_t size, size_t content)
      : fleet_(fleet),
        content_(content),
        data_(fleet.make_buffer(size)),
        content_size_(fleet.make_buffer(sizeof(cl_ulong))),
        matching_(fleet.make_buffer(sizeof(cl_int))) {
    if (content_ == size) return;
    check(find_set_content_size(fleet)(data_.get(), content_size_.get()), "clSetContentSizeBufferPoCL");
  }

  double migrate() {
    ++seed_;
    if (content_ < kPageBytes) {
      fleet_.produce_some(from_, data_, content_, seed_, content_size_);
    } else {
      fleet_.produce(from_, data_, content_, seed_);
    }
    fleet_.write_int(to_, matching_, 0);
    fleet_.finish_all();
    const Stopwatch watch;
    fleet_.migrate(to_, data_);
    fleet_.finish(to_);
    const double seconds = watch.seconds();
    fleet_.consume(to_, data_, content_, seed_, matching_);
    if (fleet_.read_int(to_, matching_) != static_cast<cl_int>(content_ / sizeof(cl_uint))) {
      throw DataError("migrated data on " + fleet_.name());
    }
    std::swap(from_, to_);
    return seconds;
  }

 private:
  const Fleet& fleet_;
  const size_t content_;
  Memory data_;
  Memory content_size_;
  Memory matching_;
  size_t from_ = 0;
  size_t to_ = 1;
  cl_uint seed_ = 0;
};

Runner data_runner(const Fleet& fleet, size_t size, size_t content) {
  auto data = std::make_shared<MigratedData>(fleet, size, content);
  return {[data] { return data->migrate(); }, {}};
}

std::optional<Case> migrate_bulk(const Bench& bench) {
  const size_t size = 64 * kMiB;
  if (!fleets_fit(bench, size)) return std::nullopt;
  Case result;
  result.unit = Unit::kGigabytesPerSecond;
  result.amount = static_cast<double>(size);
  result.ceiling = Ceiling::kRaw;
  result.target = Target{0.8, 0, 0, "80 % of raw"};
  result.plan = {.repetitions = bench.options.quick ? 3u : 15u, .block = 1, .warm_up = 2};
  result.runners.remotecl = data_runner(bench.fleets.remotecl(), size, size);
  if (const Fleet* native = bench.fleets.native()) result.runners.native = copy_runner(*native, size);
  result.runners.raw = raw_stream(bench, size);
  return result;
}

std::optional<Case> migrate_content(const Bench& bench) {
  const size_t size = 64 * kMiB;
  if (!fleets_fit(bench, size) || !find_set_content_size(bench.fleets.remotecl())) return std::nullopt;
  Case result;
  result.target = Target{.rule = "1.5 x migrate-4B", .base = 1.5};
  result.plan = {.repetitions = bench.options.quick ? 10u : 200u, .block = 10, .warm_up = 2};
  result.runners.remotecl = data_runner(bench.fleets.remotecl(), size, kKiB);
  const Fleet* native = bench.fleets.native();
  if (native && find_set_content_size(*native)) result.runners.native = data_runner(*native, size, kKiB);
  result.runners.raw = raw_round_trip(bench);
  result.runners.base = counter_runner(bench.fleets.remotecl());
  return result;
}

}  // namespace

void add_peer_cases(std::vector<CaseEntry>& cases) {
  cases.push_back({"migrate-4B", migrate_small, 2});
  cases.push_back({"alternate-kernels-4B", alternating_kernels, 2});
  cases.push_back({"migrate-64MiB", migrate_bulk, 2});
  cases.push_back({"migrate-1KiB-of-64MiB", migrate_content, 2});
}

}  // namespace remotecl::bench
