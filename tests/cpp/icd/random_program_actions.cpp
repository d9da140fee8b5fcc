// What RandomProgram does with buffers and queues: a function for each kind of command.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "icd/random_program.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kAlignment = 1024;   // of sub-buffers, in words
constexpr std::size_t kUnderWayMax = 150;  // commands

}  // namespace

void RandomProgram::step() {
  using Action = void (RandomProgram::*)();
  static constexpr std::pair<Action, int> kActions[] = {
      {&RandomProgram::write, 4},         {&RandomProgram::read, 4},
      {&RandomProgram::copy, 3},          {&RandomProgram::fill, 2},
      {&RandomProgram::add, 4},           {&RandomProgram::add_to_part, 2},
      {&RandomProgram::mix, 3},           {&RandomProgram::overwrite, 1},
      {&RandomProgram::migrate, 2},       {&RandomProgram::mark, 2},
      {&RandomProgram::open_map, 3},      {&RandomProgram::close_map, 2},
      {&RandomProgram::map_image, 1},     {&RandomProgram::brighten, 1},
      {&RandomProgram::write_image, 1},   {&RandomProgram::read_image, 1},
      {&RandomProgram::copy_to_image, 1}, {&RandomProgram::copy_from_image, 1},
      {&RandomProgram::wait_for_one, 3},  {&RandomProgram::wait_for_several, 1},
      {&RandomProgram::poll, 8},          {&RandomProgram::finish_one, 1},
      {&RandomProgram::release_event, 3}, {&RandomProgram::replace_memory, 1},
      {&RandomProgram::replace_queue, 1}};
  choice_ = Choice(seed_ * 10'000 + ++steps_);
  (this->*weighted(kActions, [this](std::size_t count) { return below(count); }))();
  if (under_way_.size() >= kUnderWayMax) finish_one();
}

// Transfers.

void RandomProgram::write() {
  const Range range = part_of(writable());
  const auto data = std::make_shared<Words>(words(range.size));
  const Shared one = command("write of " + text_of(range), {}, {range});
  one->effect = [range, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(range)); };
  one->at_end = [data](bool) { std::fill(data->begin(), data->end(), kUntouched); };
  one->is_write = true;
  one->blocks = choice_.one_in(3);
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueWriteBuffer(queue, handle(range.memory), one->blocks, range.begin * 4, range.size * 4, data->data(),
                                count, waits, event);
  });
}

void RandomProgram::read() { read_range(part_of(readable()), choice_.one_in(3)); }

void RandomProgram::read_range(const Range& range, bool blocks) {
  const auto got = std::make_shared<Words>(range.size, kUntouched);
  const auto content = std::make_shared<Content>();
  const Shared one = command("read of " + text_of(range), {range}, {});
  one->effect = [range, content](SequentialModel& model) { *content = model.content(range); };
  one->at_end = [range, got, content, what = one->what](bool succeeded) {
    if (succeeded) return content->expect(what, range, got->data());
    for (const cl_uint word : *got) {
      if (word != kUntouched) ADD_FAILURE() << what << " has failed, and brought something";
      if (word != kUntouched) break;
    }
  };
  one->blocks = blocks;
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueReadBuffer(queue, handle(range.memory), blocks, range.begin * 4, range.size * 4, got->data(), count,
                               waits, event);
  });
}

void RandomProgram::migrate() {
  const std::size_t memory = choice_.one_in(4) && !memories_.back().is_written ? image() : readable();
  const cl_mem_migration_flags flags = choice_.one_in(3) ? CL_MIGRATE_MEM_OBJECT_HOST : 0;
  const Shared one = command("migration of " + std::to_string(memory), {all_of(memory)}, {});
  one->keeps_failure = true;
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueMigrateMemObjects(queue, 1, memories_[memory].handle.pointer(), flags, count, waits, event);
  });
}

void RandomProgram::mark() {
  const bool is_barrier = choice_.one_in(2);
  const Shared one = command(is_barrier ? "barrier" : "marker", {}, {});
  one->covers_queue = choice_.one_in(2);
  one->may_fail = !is_barrier;
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return is_barrier ? clEnqueueBarrierWithWaitList(queue, count, waits, event)
                      : clEnqueueMarkerWithWaitList(queue, count, waits, event);
  });
  one->covers_queue = one->waits.empty();
  if (is_barrier && one->covers_queue) one->queue->barrier = one->position;
}

void RandomProgram::open_map() {
  if (maps_.size() >= 3) return close_map();
  const cl_map_flags flags = choice_.of<cl_map_flags>(
      {CL_MAP_READ, CL_MAP_READ, CL_MAP_READ | CL_MAP_WRITE, CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION});
  const bool writes = flags != CL_MAP_READ, reads = flags != CL_MAP_WRITE_INVALIDATE_REGION;
  const Range range = part_of(writes ? writable() : readable());
  const auto content = std::make_shared<Content>();
  const auto mapped = std::make_shared<cl_uint*>(nullptr);
  const std::vector<Range> used{range}, none;
  const Shared one =
      command("map of " + text_of(range) + " with " + std::to_string(flags), reads ? used : none, writes ? used : none);
  one->keeps_failure = true;
  if (reads) {
    one->effect = [range, content](SequentialModel& model) { *content = model.content(range); };
    one->at_end = [range, content, mapped, what = one->what](bool succeeded) {
      if (succeeded) content->expect(what, range, *mapped);
    };
  }
  one->blocks = choice_.one_in(3);
  const bool is_mapped = enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    cl_int error = CL_SUCCESS;
    *mapped = static_cast<cl_uint*>(clEnqueueMapBuffer(queue, handle(range.memory), one->blocks, flags, range.begin * 4,
                                                       range.size * 4, count, waits, event, &error));
    return error;
  });
  if (!is_mapped) return;
  Memory& memory = memories_[range.memory];
  if (memory.host != nullptr) {
    EXPECT_EQ(*mapped, memory.host + range.begin) << one->what;
  }
  if (writes) {
    memory.is_written = true;
  } else {
    ++memory.readers;
  }
  maps_.push_back({one, range, *mapped, writes});
}

void RandomProgram::close_map() {
  if (!maps_.empty()) close_map(below(maps_.size()));
}

void RandomProgram::close_map(std::size_t index) {
  const Map map = maps_[index];
  maps_.erase(maps_.begin() + static_cast<std::ptrdiff_t>(index));
  if (!map.command->has_ended) map.command->event ? wait(map.command) : finish(*map.command->queue);
  const Range range = map.range;
  const Shared one = command("unmapping of " + text_of(range), {}, {});
  one->may_fail = false;
  if (map.writes) {
    const auto data = std::make_shared<Words>(words(range.size));
    std::copy(data->begin(), data->end(), map.words);
    one->writes = {range};
    one->effect = [range, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(range)); };
  } else {
    model_.content(range).expect("what stayed mapped of " + text_of(range), range, map.words);
    one->reads = {range};
  }
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueUnmapMemObject(queue, handle(range.memory), map.words, count, waits, event);
  });
  Memory& memory = memories_[range.memory];
  if (map.writes) {
    memory.is_written = false;
  } else {
    --memory.readers;
  }
}

// On the device.

void RandomProgram::copy() {
  const std::size_t to = writable(), from = readable(0, to), size = model_.words(to).size();
  Range source = part_of(from);
  source.size = std::min(source.size, size);
  const Range target{to, below(size - source.size + 1), source.size};
  const Shared one = command("copy from " + text_of(source) + " to " + text_of(target), {source}, {target});
  one->effect = [=](SequentialModel& model) { std::copy_n(model.at(source), source.size, model.at(target)); };
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueCopyBuffer(queue, handle(from), handle(to), source.begin * 4, target.begin * 4, source.size * 4,
                               count, waits, event);
  });
}

void RandomProgram::fill() {
  const Range range = part_of(writable());
  const cl_uint value = word();
  const Shared one = command("fill of " + text_of(range), {}, {range});
  one->effect = [=](SequentialModel& model) { std::fill_n(model.at(range), range.size, value); };
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueFillBuffer(queue, handle(range.memory), &value, sizeof value, range.begin * 4, range.size * 4,
                               count, waits, event);
  });
}

// The kernel is released while it may wait or run.
bool RandomProgram::run_kernel(const Shared& command, const char* name,
                               const std::function<void(cl_kernel)>& set_arguments, std::size_t width,
                               std::size_t height) {
  const Owned<cl_kernel> kernel = make_kernel(program_, name);
  set_arguments(kernel);
  const std::size_t size[2] = {width, height};
  return enqueue(command, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueNDRangeKernel(queue, kernel, height == 0 ? 1 : 2, nullptr, size, nullptr, count, waits, event);
  });
}

void RandomProgram::add() {
  const Range range = all_of(writable());
  const cl_uint value = word();
  const Shared one = command("addition to " + std::to_string(range.memory), {range}, {range});
  one->effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < range.size; ++i) model.at(range)[i] += value;
  };
  const auto set = [&](cl_kernel kernel) {
    check(set_arg(kernel, 0, memories_[range.memory].handle));
    check(set_arg(kernel, 1, value));
  };
  run_kernel(one, "add_mv", set, range.size);
}

// The sub-buffer is released at once.
void RandomProgram::add_to_part() {
  const std::size_t memory = writable(2 * kAlignment), size = model_.words(memory).size();
  const std::size_t begin = kAlignment * below(size / kAlignment);
  const Range range{memory, begin, 1 + below(size - begin)};
  const cl_uint value = word();
  const Shared one = command("addition to " + text_of(range), {range}, {range});
  one->effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < range.size; ++i) model.at(range)[i] += value;
  };
  const Owned<cl_mem> part = make_sub_buffer(handle(memory), range.begin * 4, range.size * 4);
  const auto set = [&](cl_kernel kernel) {
    check(set_arg(kernel, 0, part));
    check(set_arg(kernel, 1, value));
  };
  run_kernel(one, "add_mv", set, range.size);
}

void RandomProgram::mix() {
  const std::size_t to = writable(), from = readable(0, to);
  const Range source = all_of(from), target = all_of(to);
  const std::size_t size = std::min(source.size, target.size);
  const Shared one = command("mix of " + text_of(source) + " into " + text_of(target), {source, target}, {target});
  one->effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < size; ++i) model.at(target)[i] ^= model.at(source)[i] * 3u;
  };
  const auto set = [&](cl_kernel kernel) {
    check(set_arg(kernel, 0, memories_[from].handle));
    check(set_arg(kernel, 1, memories_[to].handle));
  };
  run_kernel(one, "combine_mm", set, size);
}

void RandomProgram::overwrite() {
  const Range range = all_of(writable());
  const cl_uint value = word();
  const Shared one = command("counting in " + std::to_string(range.memory), {range}, {range});
  one->effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < range.size; ++i) model.at(range)[i] = value + static_cast<cl_uint>(i);
  };
  const auto set = [&](cl_kernel kernel) {
    check(set_arg(kernel, 0, memories_[range.memory].handle));
    check(set_arg(kernel, 1, value));
  };
  run_kernel(one, "count_mv", set, range.size);
}
}  // namespace remotecl::testing
