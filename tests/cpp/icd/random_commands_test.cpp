// Random commands on queues of three servers, from two threads, over a bad network, against a model that does them one
// after another. Every byte counts. REMOTECL_TEST_SEED repeats a run, REMOTECL_TEST_STEPS makes it longer.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <thread>

#include "icd/fixture.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

using Words = std::vector<cl_uint>;

constexpr std::size_t kSide = 96;         // of the image, in pixels of one word
constexpr std::size_t kAlignment = 1024;  // of sub-buffers, in words
constexpr char kKernels[] = R"(
kernel void add(global uint* to, uint value) { to[get_global_id(0)] += value; }
kernel void combine(global const uint* from, global uint* to) { to[get_global_id(0)] ^= from[get_global_id(0)] * 3u; }
kernel void count_up(global uint* to, uint value) { to[get_global_id(0)] = value + get_global_id(0); }
kernel void brighten(read_only image2d_t from, global uint* to) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  to[at.y * get_global_size(0) + at.x] += read_imageui(from, at).x;
}
)";

std::uint64_t seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("REMOTECL_TEST_SEED");
    return given != nullptr ? std::stoull(given) : std::random_device{}();
  }();
  return seed;
}

std::size_t steps() {
  const char* given = std::getenv("REMOTECL_TEST_STEPS");
  return given != nullptr ? std::stoul(given) : 150;
}

// A buffer or an image, what it must contain, and what still uses it.
struct Memory {
  Owned<cl_mem> handle;
  Words expected;
  bool is_image = false;
  std::shared_ptr<Owned<cl_event>> written;
  std::vector<std::shared_ptr<Owned<cl_event>>> read;
};

// A read that does not block, and what it has to bring.
struct Arrival {
  std::string what;
  Words got, expected;
};

class Player {
 public:
  Player(cl_context context, std::uint64_t seed)
      : random_(seed), context_(context), program_(build(context, kKernels)) {
    for (cl_device_id device : Environment::get().devices()) {
      queues_.push_back(make_queue(context, device));
      queues_.push_back(make_queue(context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE));
    }
    // What travels inside a message, what does not, and what is cut into pieces.
    for (const std::size_t size : {std::size_t{3000}, std::size_t{40'000}, std::size_t{400'000}}) {
      for (int i = 0; i < 2; ++i) {
        Memory& memory = memories_.emplace_back();
        memory.expected.resize(size);
        for (cl_uint& word : memory.expected) word = static_cast<cl_uint>(random_());
        if (i == 0) {
          memory.handle = make_buffer(context, memory.expected);
        } else {
          Words& host = hosts_.emplace_back(memory.expected);
          memory.handle = make_buffer(context, size * 4, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host.data());
        }
      }
    }
    Memory& image = memories_.emplace_back();
    image.is_image = true;
    image.expected.resize(kSide * kSide);
    for (cl_uint& word : image.expected) word = static_cast<cl_uint>(random_());
    const cl_image_format format{CL_R, CL_UNSIGNED_INT32};
    cl_image_desc description{};
    description.image_type = CL_MEM_OBJECT_IMAGE2D;
    description.image_width = description.image_height = kSide;
    cl_int error = CL_SUCCESS;
    image.handle = Owned<cl_mem>(clCreateImage(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, &format, &description,
                                               image.expected.data(), &error));
    check(error);
  }

  void step() {
    using Action = void (Player::*)();
    static constexpr std::pair<Action, int> kActions[] = {{&Player::write, 3},
                                                          {&Player::read, 3},
                                                          {&Player::copy, 3},
                                                          {&Player::copy_rect, 1},
                                                          {&Player::fill, 2},
                                                          {&Player::add, 4},
                                                          {&Player::add_to_part, 2},
                                                          {&Player::mix, 4},
                                                          {&Player::overwrite, 1},
                                                          {&Player::map, 2},
                                                          {&Player::map_for_writing, 1},
                                                          {&Player::migrate, 2},
                                                          {&Player::brighten, 2},
                                                          {&Player::copy_image, 1},
                                                          {&Player::write_image, 1}};
    int total = 0;
    for (const auto& [action, weight] : kActions) total += weight;
    int choice = static_cast<int>(below(static_cast<std::size_t>(total)));
    for (const auto& [action, weight] : kActions) {
      choice -= weight;
      if (choice >= 0) continue;
      last_queue_.clear();
      last_what_.clear();
      const char* names[] = {"write",     "read", "copy", "copy_rect", "fill",     "add",        "add_to_part", "mix",
                             "overwrite", "map",  "mapw", "migrate",   "brighten", "copy_image", "write_image"};
      const std::size_t which =
          (reinterpret_cast<const char*>(&action) - reinterpret_cast<const char*>(&kActions[0].first)) /
          sizeof(kActions[0]);
      (this->*action)();
      log_.push_back(std::string(names[which]) + " q" + last_queue_ + " " + last_what_ + " -> " +
                     std::to_string(memories_[wm_].expected[ww_]));
      break;
    }
    if (below(10) == 0) check(clFlush(queue()));
  }

  void finish() {
    for (const auto& one : queues_) check(clFinish(one));
  }

  // Reads everything, wherever it is.
  void expect_all() {
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      Memory& memory = memories_[i];
      Words got(memory.expected.size());
      const std::vector<cl_event> wait = after_write(memory);
      if (memory.is_image) {
        const std::size_t origin[3] = {}, region[3] = {kSide, kSide, 1};
        check(clEnqueueReadImage(queue(), memory.handle, CL_TRUE, origin, region, 0, 0, got.data(), count(wait),
                                 list_of(wait), nullptr));
      } else {
        check(clEnqueueReadBuffer(queue(), memory.handle, CL_TRUE, 0, got.size() * 4, got.data(), count(wait),
                                  list_of(wait), nullptr));
      }
      expect_equal("memory " + std::to_string(i), got, memory.expected);
    }
    finish();
    for (const Arrival& arrival : arrivals_) expect_equal(arrival.what, arrival.got, arrival.expected);
    arrivals_.clear();
    if (bad_)
      for (auto& l : log_) std::cout << l << '\n';
  }

 private:
  struct Range {
    std::size_t begin, size;
  };

  void expect_equal(const std::string& what, const Words& got, const Words& expected) {
    const auto [at, other] = std::mismatch(got.begin(), got.end(), expected.begin(), expected.end());
    if (at == got.end()) return;
    bad_ = true;
    {
      int n = 0, first = -1, last = -1;
      for (std::size_t i = 0; i < got.size(); ++i)
        if (got[i] != expected[i]) {
          if (first < 0) first = i;
          last = i;
          ++n;
        }
      std::cout << "differ " << n << " from " << first << " to " << last << '\n';
    }
    ADD_FAILURE() << what << ", word " << at - got.begin() << " of " << got.size() << " is " << *at << ", not "
                  << *other;
  }
  static cl_uint count(const std::vector<cl_event>& list) { return static_cast<cl_uint>(list.size()); }
  static const cl_event* list_of(const std::vector<cl_event>& list) { return list.empty() ? nullptr : list.data(); }

  std::size_t below(std::size_t bound) { return random_() % bound; }
  cl_uint word() { return static_cast<cl_uint>(random_()); }
  cl_command_queue queue() {
    std::size_t i = below(queues_.size());
    last_queue_ += std::to_string(i) + ' ';
    return queues_[i];
  }
  std::string last_queue_;
  std::string last_what_;
  std::vector<std::string> log_;
  int wm_ = std::getenv("WM") ? std::atoi(std::getenv("WM")) : 0,
      ww_ = std::getenv("WW") ? std::atoi(std::getenv("WW")) : 0;
  bool bad_ = false;
  Memory& buffer() {
    Memory& m = memories_[below(memories_.size() - 1)];
    last_what_ += "m" + std::to_string(&m - memories_.data()) + " ";
    return m;
  }
  Memory& image() {
    last_what_ += "image ";
    return memories_.back();
  }
  Memory& other_than(const Memory& memory) {
    for (;;) {
      Memory& other = buffer();
      if (&other != &memory) return other;
    }
  }
  Range range(std::size_t size) {
    const std::size_t sizes[] = {1, 7, 500, size / 2, size};
    const std::size_t wanted = std::min(size, sizes[below(5)]);
    Range r{below(size - wanted + 1), wanted};
    last_what_ += "[" + std::to_string(r.begin) + "+" + std::to_string(r.size) + "] ";
    return r;
  }

  Memory& named(std::size_t i) {
    last_what_ += "m" + std::to_string(i) + " ";
    return memories_[i];
  }
  static std::vector<cl_event> after_write(const Memory& memory) {
    return memory.written ? std::vector<cl_event>{*memory.written} : std::vector<cl_event>{};
  }
  static std::vector<cl_event> after_all(const Memory& memory) {
    std::vector<cl_event> events = after_write(memory);
    for (const auto& event : memory.read) events.push_back(*event);
    return events;
  }
  static void append(std::vector<cl_event>& to, const std::vector<cl_event>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  using Event = std::shared_ptr<Owned<cl_event>>;
  static Event event() { return std::make_shared<Owned<cl_event>>(); }
  static void was_read(Memory& memory, const Event& event) { memory.read.push_back(event); }
  static void was_written(Memory& memory, const Event& event) {
    memory.written = event;
    memory.read.clear();
  }
  Owned<cl_kernel> kernel(const char* name) { return make_kernel(program_, name); }

  void write() {
    Memory& memory = buffer();
    const auto [begin, size] = range(memory.expected.size());
    Words& data = hosts_.emplace_back(size);
    for (cl_uint& one : data) one = word();
    std::copy(data.begin(), data.end(), memory.expected.begin() + static_cast<std::ptrdiff_t>(begin));
    const auto wait = after_all(memory);
    const Event done = event();
    check(clEnqueueWriteBuffer(queue(), memory.handle, below(3) == 0, begin * 4, size * 4, data.data(), count(wait),
                               list_of(wait), done->out()));
    was_written(memory, done);
  }

  void read() {
    Memory& memory = buffer();
    const auto [begin, size] = range(memory.expected.size());
    const auto first = memory.expected.begin() + static_cast<std::ptrdiff_t>(begin);
    Arrival& arrival = arrivals_.emplace_back();
    arrival.what = "read of memory " + std::to_string(&memory - memories_.data()) + " from " + std::to_string(begin);
    arrival.got.resize(size);
    arrival.expected.assign(first, first + static_cast<std::ptrdiff_t>(size));
    const auto wait = after_write(memory);
    const Event done = event();
    check(clEnqueueReadBuffer(queue(), memory.handle, below(3) == 0, begin * 4, size * 4, arrival.got.data(),
                              count(wait), list_of(wait), done->out()));
    was_read(memory, done);
  }

  void copy() {
    Memory& from = buffer();
    Memory& to = other_than(from);
    const auto [begin, size] = range(std::min(from.expected.size(), to.expected.size()));
    const std::size_t at = below(to.expected.size() - size + 1);
    std::copy_n(from.expected.begin() + static_cast<std::ptrdiff_t>(begin), size,
                to.expected.begin() + static_cast<std::ptrdiff_t>(at));
    auto wait = after_all(to);
    append(wait, after_write(from));
    const Event done = event();
    check(clEnqueueCopyBuffer(queue(), from.handle, to.handle, begin * 4, at * 4, size * 4, count(wait), list_of(wait),
                              done->out()));
    was_read(from, done);
    was_written(to, done);
  }

  void copy_rect() {
    Memory& from = buffer();
    Memory& to = other_than(from);
    const std::size_t width = 1 + below(40), height = 1 + below(20), pitch = 50;
    const std::size_t there[3] = {4 * below(10), below(5), 0}, here[3] = {4 * below(10), below(5), 0};
    const std::size_t region[3] = {4 * width, height, 1};
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        to.expected[(here[1] + y) * pitch + here[0] / 4 + x] = from.expected[(there[1] + y) * pitch + there[0] / 4 + x];
      }
    }
    auto wait = after_all(to);
    append(wait, after_write(from));
    const Event done = event();
    check(clEnqueueCopyBufferRect(queue(), from.handle, to.handle, there, here, region, 4 * pitch, 0, 4 * pitch, 0,
                                  count(wait), list_of(wait), done->out()));
    was_read(from, done);
    was_written(to, done);
  }

  void fill() {
    Memory& memory = buffer();
    const auto [begin, size] = range(memory.expected.size());
    const cl_uint value = word();
    std::fill_n(memory.expected.begin() + static_cast<std::ptrdiff_t>(begin), size, value);
    const auto wait = after_all(memory);
    const Event done = event();
    check(clEnqueueFillBuffer(queue(), memory.handle, &value, 4, begin * 4, size * 4, count(wait), list_of(wait),
                              done->out()));
    was_written(memory, done);
  }

  void add() {
    Memory& memory = buffer();
    const cl_uint value = word();
    for (cl_uint& one : memory.expected) one += value;
    run_on(memory, memory.handle, "add", value, memory.expected.size());
  }

  void add_to_part() {
    Memory& memory = buffer();
    const std::size_t begin = kAlignment * below((memory.expected.size() + kAlignment - 1) / kAlignment);
    const std::size_t size = 1 + below(memory.expected.size() - begin);
    last_what_ += "[" + std::to_string(begin) + "+" + std::to_string(size) + "] ";
    const cl_uint value = word();
    for (std::size_t i = begin; i < begin + size; ++i) memory.expected[i] += value;
    run_on(memory, make_sub_buffer(memory.handle, begin * 4, size * 4), "add", value, size);
  }

  void overwrite() {
    Memory& memory = buffer();
    const cl_uint value = word();
    for (std::size_t i = 0; i < memory.expected.size(); ++i) memory.expected[i] = value + static_cast<cl_uint>(i);
    const auto wait = after_all(memory);
    const Event gone = event();
    // Nobody needs what is in it.
    const cl_command_queue on = queue();
    check(clEnqueueMigrateMemObjects(on, 1, memory.handle.pointer(), CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED,
                                     count(wait), list_of(wait), gone->out()));
    was_written(memory, gone);
    run_on(memory, memory.handle, "count_up", value, memory.expected.size());
  }

  void run_on(Memory& memory, cl_mem argument, const char* name, cl_uint value, std::size_t size) {
    const Owned<cl_kernel> one = kernel(name);
    last_what_ += " value " + std::to_string(value);
    check(set_arg(one, 0, argument));
    check(set_arg(one, 1, value));
    const Event done = event();
    check(run(queue(), one, size, after_all(memory), done->out()));
    was_written(memory, done);
  }

  void mix() {
    Memory& from = buffer();
    Memory& to = other_than(from);
    const std::size_t size = std::min(from.expected.size(), to.expected.size());
    for (std::size_t i = 0; i < size; ++i) to.expected[i] ^= from.expected[i] * 3u;
    const Owned<cl_kernel> one = kernel("combine");
    check(set_arg(one, 0, from.handle));
    check(set_arg(one, 1, to.handle));
    auto wait = after_all(to);
    append(wait, after_write(from));
    const Event done = event();
    check(run(queue(), one, size, wait, done->out()));
    was_read(from, done);
    was_written(to, done);
  }

  void map() { map_with(CL_MAP_READ | CL_MAP_WRITE); }
  void map_for_writing() { map_with(CL_MAP_WRITE_INVALIDATE_REGION); }
  void map_with(cl_map_flags flags) {
    Memory& memory = buffer();
    const auto [begin, size] = range(memory.expected.size());
    const auto wait = after_all(memory);
    const cl_command_queue on = queue();
    const Event unmapped = event();
    cl_int error = CL_SUCCESS;
    auto* words = static_cast<cl_uint*>(clEnqueueMapBuffer(on, memory.handle, CL_TRUE, flags, begin * 4, size * 4,
                                                           count(wait), list_of(wait), nullptr, &error));
    check(error);
    const auto first = memory.expected.begin() + static_cast<std::ptrdiff_t>(begin);
    if ((flags & CL_MAP_READ) != 0) {
      expect_equal("mapped memory", Words(words, words + size),
                   Words(first, first + static_cast<std::ptrdiff_t>(size)));
    }
    const cl_uint value = word();
    for (std::size_t i = 0; i < size; ++i) words[i] = value - static_cast<cl_uint>(i);
    std::copy(words, words + size, first);
    check(clEnqueueUnmapMemObject(on, memory.handle, words, 0, nullptr, unmapped->out()));
    was_written(memory, unmapped);
  }

  void migrate() {
    Memory& memory = below(4) == 0 ? image() : buffer();
    const auto wait = after_write(memory);
    const Event done = event();
    check(clEnqueueMigrateMemObjects(queue(), 1, memory.handle.pointer(),
                                     below(3) == 0 ? CL_MIGRATE_MEM_OBJECT_HOST : 0, count(wait), list_of(wait),
                                     done->out()));
    was_read(memory, done);
  }

  void brighten() {
    Memory& from = image();
    Memory& to = named(2 + below(4));  // large enough
    for (std::size_t i = 0; i < kSide * kSide; ++i) to.expected[i] += from.expected[i];
    const Owned<cl_kernel> one = kernel("brighten");
    check(set_arg(one, 0, from.handle));
    check(set_arg(one, 1, to.handle));
    auto wait = after_all(to);
    append(wait, after_write(from));
    const Event done = event();
    const std::size_t size[2] = {kSide, kSide};
    check(clEnqueueNDRangeKernel(queue(), one, 2, nullptr, size, nullptr, count(wait), list_of(wait), done->out()));
    was_read(from, done);
    was_written(to, done);
  }

  void copy_image() {
    Memory& to = image();
    Memory& from = named(2 + below(4));
    const std::size_t rows = 1 + below(kSide), row = below(kSide - rows + 1);
    const std::size_t at = below(from.expected.size() - rows * kSide + 1);
    std::copy_n(from.expected.begin() + static_cast<std::ptrdiff_t>(at), rows * kSide,
                to.expected.begin() + static_cast<std::ptrdiff_t>(row * kSide));
    auto wait = after_all(to);
    append(wait, after_write(from));
    const Event done = event();
    const std::size_t origin[3] = {0, row, 0}, region[3] = {kSide, rows, 1};
    check(clEnqueueCopyBufferToImage(queue(), from.handle, to.handle, at * 4, origin, region, count(wait),
                                     list_of(wait), done->out()));
    was_read(from, done);
    was_written(to, done);
  }

  void write_image() {
    Memory& memory = image();
    const std::size_t rows = 1 + below(kSide), row = below(kSide - rows + 1);
    Words& data = hosts_.emplace_back(rows * kSide);
    for (cl_uint& one : data) one = word();
    std::copy(data.begin(), data.end(), memory.expected.begin() + static_cast<std::ptrdiff_t>(row * kSide));
    const auto wait = after_all(memory);
    const Event done = event();
    const std::size_t origin[3] = {0, row, 0}, region[3] = {kSide, rows, 1};
    check(clEnqueueWriteImage(queue(), memory.handle, below(2) == 0, origin, region, 0, 0, data.data(), count(wait),
                              list_of(wait), done->out()));
    was_written(memory, done);
  }

  std::mt19937_64 random_;
  const cl_context context_;
  const Owned<cl_program> program_;
  std::vector<Owned<cl_command_queue>> queues_;
  std::vector<Memory> memories_;
  std::deque<Words> hosts_;  // what commands read that may not have run yet
  std::deque<Arrival> arrivals_;
};

template <class Condition>
bool soon(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

class RandomCommandsTest : public ::testing::TestWithParam<int> {
 protected:
  std::uint64_t own_seed() const { return seed() * 1000 + static_cast<std::uint64_t>(GetParam()) * 10; }

  Owned<cl_context> context_ = make_context(Environment::get().devices());
};

TEST_P(RandomCommandsTest, GiveTheBytesOfTheSequentialModel) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this, i] {
      try {
        Player player(context_, own_seed() + static_cast<std::uint64_t>(i));
        for (std::size_t done = 0; done < steps(); ++done) player.step();
        player.expect_all();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// What happens to connections costs time, and nothing else. REMOTECL_TEST_FAULTS is how often something does. With
// REMOTECL_TEST_TLS bytes are corrupted, too.
TEST(FaultsTest, EveryCommandIsCarriedOutOnce) {
  if (std::getenv("REMOTECL_TEST_SHARED_MEMORY") != nullptr) GTEST_SKIP() << "its end is that of the other process";
  const Owned<cl_context> context = make_context(Environment::get().devices());
  std::atomic<bool> enough{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      try {
        Player player(context, seed() + i);
        while (!enough) player.step();
        player.expect_all();
      } catch (const std::exception& error) {
        ADD_FAILURE() << error.what();
        enough = true;
      }
    });
  }
  std::mt19937_64 random(seed());
  std::array<int, FaultRelay::kFaultKinds> counts{};
  const char* wanted = std::getenv("REMOTECL_TEST_FAULTS");
  while (!enough) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    Environment::get().relay(random() % 3).disturb(random);
    counts = {};
    for (std::size_t relay = 0; relay < 3; ++relay) {
      for (std::size_t kind = 0; kind < counts.size(); ++kind) {
        counts[kind] += Environment::get().relay(relay).faults()[kind];
      }
    }
    if (std::accumulate(counts.begin(), counts.end(), 0) >= (wanted == nullptr ? 60 : std::atoi(wanted))) enough = true;
  }
  for (std::size_t relay = 0; relay < 3; ++relay) Environment::get().relay(relay).settle();
  for (std::thread& thread : threads) thread.join();
  std::cout << counts[FaultRelay::kCut] << " cuts, " << counts[FaultRelay::kNearLost] << " and "
            << counts[FaultRelay::kFarLost] << " lost at one end, " << counts[FaultRelay::kStall] << " stalls, "
            << counts[FaultRelay::kCorruption] << " corruptions\n";
}

// Where nobody connects again (REMOTECL_RECONNECT=0). While nothing is on its way: that would be lost.
TEST(LostLinksTest, ServersThatLoseEachOtherGoOnAndFindEachOtherAgain) {
  if (std::getenv("REMOTECL_RECONNECT") == nullptr) GTEST_SKIP() << "links that are carried on are not lost";
  const Owned<cl_context> context = make_context(Environment::get().devices());
  Player player(context, seed());
  std::mt19937_64 random(seed());
  for (int round = 0; round < 6; ++round) {
    for (std::size_t done = 0; done < steps() / 3; ++done) player.step();
    player.finish();
    const int before = connected_links();
    ASSERT_TRUE(round != 0 || before == 3) << before;
    // Two connections make a link.
    const int ended = Environment::get().relay(round == 0 ? 2 : random() % 3).cut_peers() / 2;
    ASSERT_TRUE(round != 0 || ended > 0);
    EXPECT_TRUE(soon([&] { return connected_links() <= before - ended; })) << "nobody noticed";
  }
  player.expect_all();
  EXPECT_TRUE(soon([&] {
    player.step();
    return connected_links() == 3;
  }));
  player.expect_all();
}

INSTANTIATE_TEST_SUITE_P(Rounds, RandomCommandsTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  if (std::getenv("SHOW") == nullptr) ::setenv("REMOTECL_LOG", "off", 1);  // links are lost on purpose
  ::testing::InitGoogleTest(&argc, argv);
  std::cout << "repeat with REMOTECL_TEST_SEED=" << remotecl::testing::seed() << '\n';
  remotecl::testing::FaultRelay::Faults faults;
  faults.seed = remotecl::testing::seed();
  faults.corrupts = std::getenv("REMOTECL_TEST_TLS") != nullptr;
  std::vector<std::string> settings;
  if (std::getenv("REMOTECL_TEST_SHARED_MEMORY") == nullptr) {  // it would pass the bad network by
    ::setenv("REMOTECL_SHARED_MEMORY", "off", 1);
    settings.emplace_back("REMOTECL_SHARED_MEMORY=off");
  }
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(3, faults, settings));
  return RUN_ALL_TESTS();
}
