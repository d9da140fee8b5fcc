#include "icd/random_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "icd/choice.h"
#include "icd/environment.h"

namespace remotecl::testing {
namespace {

constexpr std::chrono::seconds kSurvivalMax{10};  // until a loss has no consequences for others any more
constexpr std::size_t kUnderWayMax = 200;         // commands
constexpr std::size_t kSurvivingRangesMax = 8;    // looked at in one memory object
void append(std::vector<SharedEvent>& to, const SharedEvent& event) {
  if (event != nullptr && std::find(to.begin(), to.end(), event) == to.end()) to.push_back(event);
}

}  // namespace

// The fake driver knows them by their names.
const char* const kRandomKernels = R"(
kernel void add_mv(global uint* to, uint value) { to[get_global_id(0)] += value; }
kernel void combine_mm(global const uint* from, global uint* to) { to[get_global_id(0)] ^= from[get_global_id(0)] * 3u; }
kernel void count_mv(global uint* to, uint value) { to[get_global_id(0)] = value + get_global_id(0); }
kernel void brighten_im(read_only image2d_t from, global uint* to) {
  const int2 at = (int2)(get_global_id(0), get_global_id(1));
  to[at.y * get_global_size(0) + at.x] += read_imageui(from, at).x;
}
)";

std::uint64_t test_seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("REMOTECL_TEST_SEED");
    return given != nullptr ? std::stoull(given) : std::random_device{}();
  }();
  return seed;
}

RandomCommands::RandomCommands(cl_context context, std::uint64_t seed)
    : random_(seed),
      context_(context),
      devices_(list<cl_device_id>(clGetContextInfo, context, CL_CONTEXT_DEVICES)),
      // Drivers need not say otherwise what a kernel only reads, which the model relies on.
      program_(build(context, kRandomKernels, "-cl-kernel-arg-info")) {
  for (unsigned device = 0; device < devices_.size(); ++device) {
    const auto offered =
        value<cl_command_queue_properties>(clGetDeviceInfo, devices_[device], CL_DEVICE_QUEUE_PROPERTIES);
    queues_.push_back({make_queue(context, devices_[device]), device});
    queues_.push_back(
        {make_queue(context, devices_[device], offered & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), device});
  }
  make_buffers();
  make_image();
}

void RandomCommands::make_buffers() {
  // What travels inside a message, what does not, and what is cut into pieces.
  for (const std::size_t size : {std::size_t{3000}, std::size_t{40'000}, std::size_t{400'000}}) {
    for (const bool in_host_memory : {false, true}) {
      const Words content = words(size);
      Memory& memory = memories_.emplace_back();
      if (in_host_memory) {
        Words& host = hosts_.emplace_back(content);
        memory.handle = make_buffer(context_, size * 4, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, host.data());
      } else {
        memory.handle = make_buffer(context_, content);
      }
      model_.add(content);
    }
  }
}

void RandomCommands::make_image() {
  Words content = words(kSide * kSide);
  memories_.emplace_back().handle = make_square_image(context_, kSide, content);
  model_.add(std::move(content));
}

void RandomCommands::step() {
  using Action = void (RandomCommands::*)();
  static constexpr std::pair<Action, int> kActions[] = {{&RandomCommands::write, 3},
                                                        {&RandomCommands::read, 3},
                                                        {&RandomCommands::copy, 3},
                                                        {&RandomCommands::copy_rect, 1},
                                                        {&RandomCommands::fill, 2},
                                                        {&RandomCommands::add, 4},
                                                        {&RandomCommands::add_to_part, 2},
                                                        {&RandomCommands::mix, 4},
                                                        {&RandomCommands::overwrite, 1},
                                                        {&RandomCommands::map, 2},
                                                        {&RandomCommands::map_for_writing, 1},
                                                        {&RandomCommands::migrate, 2},
                                                        {&RandomCommands::brighten, 2},
                                                        {&RandomCommands::copy_image, 1},
                                                        {&RandomCommands::write_image, 1}};
  (this->*weighted(kActions, [this](std::size_t count) { return below(count); }))();
  if (below(4) == 0) fail_gates();
  if (below(10) == 0) timed([&] { return clFlush(queue().handle); });
  if (under_way_.size() >= kUnderWayMax) settle();
}

Locations RandomCommands::lost() const {
  Locations lost = 0;
  for (unsigned device = 0; device < devices_.size(); ++device) {
    if (value<cl_bool>(clGetDeviceInfo, devices_[device], CL_DEVICE_AVAILABLE) == CL_FALSE) lost |= location_of(device);
  }
  return lost;
}

cl_int RandomCommands::timed(const std::function<cl_int()>& call) {
  const auto begin = Clock::now();
  const cl_int error = call();
  longest_call_ = std::max(longest_call_, Clock::now() - begin);
  return error;
}

std::vector<SharedEvent> RandomCommands::after_all(const Memory& memory) {
  std::vector<SharedEvent> events = memory.read;
  if (memory.written != nullptr) events.push_back(memory.written);
  return events;
}

bool RandomCommands::enqueue(ModelCommand command, const Queue& on, const Call& call) {
  command.device = on.device;
  command.lost = lost();
  for (const Range& range : command.reads) append(command.waits, memories_[range.memory].written);
  for (const Range& range : command.writes) {
    for (const SharedEvent& event : after_all(memories_[range.memory])) append(command.waits, event);
  }
  std::vector<cl_event> waits;
  for (const SharedEvent& event : command.waits) waits.push_back(*event);
  if (command.blocking) fail_gates();
  if (refuses_some_ && !command.blocking && command.may_be_refused && below(6) == 0) waits.push_back(refuse(command));
  command.event = std::make_shared<Owned<cl_event>>();
  command.status = timed([&] {
    return call(on.handle, static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(),
                command.event->out());
  });
  const bool succeeded = command.status == CL_SUCCESS;
  note(std::move(command), succeeded);
  return succeeded;
}

void RandomCommands::note(ModelCommand command, bool succeeded) {
  ++commands_;
  if (succeeded && command.is_refused) {
    refused_ = command.event;
  } else if (succeeded) {
    for (const Range& range : command.reads) memories_[range.memory].read.push_back(command.event);
    for (const Range& range : command.writes) {
      memories_[range.memory].written = command.event;
      memories_[range.memory].read.clear();
    }
  } else {
    command.event = nullptr;
    if ((command.lost & location_of(command.device)) == 0) ++failures_since_repair_;
  }
  under_way_.push_back(std::move(command));
}

cl_event RandomCommands::refuse(ModelCommand& command) {
  command.is_refused = true;
  if (refused_ != nullptr && below(2) == 0) return *refused_;
  return gates_.emplace_back(make_user_event(context_));
}

void RandomCommands::fail_gates() {
  for (const Owned<cl_event>& gate : gates_) check(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES));
  gates_.clear();
}

void RandomCommands::finish() {
  for (const Queue& one : queues_) {
    const cl_int error = timed([&] { return clFinish(one.handle); });
    if (error == CL_SUCCESS) continue;
    EXPECT_EQ(error, CL_DEVICE_NOT_AVAILABLE) << "clFinish of device " << one.device;
    EXPECT_TRUE((lost() & location_of(one.device)) != 0) << "clFinish fails and device " << one.device << " is there";
  }
}

void RandomCommands::settle() {
  fail_gates();
  finish();
  bool failed = false;
  for (ModelCommand& command : under_way_) {
    if (command.event == nullptr) continue;
    command.status = status(*command.event);
    if (command.status > CL_COMPLETE) {  // of a device that is being lost
      EXPECT_NE(timed([&] { return clWaitForEvents(1, command.event->pointer()); }), CL_SUCCESS) << command.what;
      command.status = status(*command.event);
    }
    if (command.status != CL_SUCCESS && !command.is_refused) failed = true;
  }
  // One server may have heard of the loss of another one before this process.
  if (failed) finish();
  const Locations lost_now = lost();
  for (const ModelCommand& command : under_way_) {
    model_.carry_out(command, lost_now);
    if (command.status == CL_SUCCESS || command.is_refused || (command.lost & location_of(command.device)) != 0)
      continue;
    ++failures_;
    ++failures_since_repair_;
  }
  under_way_.clear();
  refused_ = nullptr;
  for (Memory& memory : memories_) {
    memory.written = nullptr;
    memory.read.clear();
  }
}

void RandomCommands::expect_all() {
  settle();
  const auto deadline = Clock::now() + kSurvivalMax;
  while (!reads_survivors()) {
    if (Clock::now() < deadline) continue;
    ADD_FAILURE() << "what survives cannot be read";
    return;
  }
}

bool RandomCommands::reads_survivors() {
  const std::size_t before = model_.misses();
  for (std::size_t memory = 0; memory < memories_.size(); ++memory) {
    const Locations lost_now = lost();
    const bool survives = model_.survives(memory, lost_now);
    if (memory == image()) {
      read_image(survives);
      continue;
    }
    read_range(living_queue(), all_of(memory), true, survives);
    if (survives) continue;
    std::vector<Range> ranges = model_.surviving(memory, lost_now);
    std::shuffle(ranges.begin(), ranges.end(), random_);
    ranges.resize(std::min(ranges.size(), kSurvivingRangesMax));
    for (const Range& range : ranges) read_range(living_queue(), range, true, true);
  }
  settle();
  return model_.misses() == before || is_alone();
}

void RandomCommands::repair() {
  for (std::size_t memory = 0; memory < memories_.size(); ++memory) {
    if (model_.survives(memory, lost()) || is_alone()) continue;
    if (memory == image()) {
      write_rows(living_queue(), 0, kSide, true);
    } else {
      write_range(living_queue(), all_of(memory), true);
    }
  }
  settle();
  failures_since_repair_ = 0;
}

Words RandomCommands::words(std::size_t count) {
  Words words(count);
  for (cl_uint& one : words) one = word();
  return words;
}

const RandomCommands::Queue& RandomCommands::queue() {
  return below(10) == 0 ? queues_[below(queues_.size())] : living_queue();
}

bool RandomCommands::is_alone() const {
  const Locations lost_now = lost();
  return std::all_of(queues_.begin(), queues_.end(),
                     [lost_now](const Queue& one) { return (lost_now & location_of(one.device)) != 0; });
}

const RandomCommands::Queue& RandomCommands::living_queue() {
  const Locations lost_now = lost();
  const std::size_t first = below(queues_.size());
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const Queue& one = queues_[(first + i) % queues_.size()];
    if ((lost_now & location_of(one.device)) == 0) return one;
  }
  return queues_[first];
}

std::size_t RandomCommands::other_than(std::size_t memory) {
  for (;;) {
    const std::size_t other = buffer();
    if (other != memory) return other;
  }
}

RandomCommands::Range RandomCommands::part_of(std::size_t memory) {
  const std::size_t size = model_.words(memory).size();
  const std::size_t sizes[] = {1, 7, 500, size / 2, size};
  const std::size_t wanted = std::min(size, sizes[below(5)]);
  return {memory, below(size - wanted + 1), wanted};
}

}  // namespace remotecl::testing
