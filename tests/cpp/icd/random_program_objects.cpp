// The objects of RandomProgram: some are released while commands use them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "icd/random_program.h"

namespace remotecl::testing {

std::string RandomProgram::text_of(const Range& range) {
  return std::to_string(range.memory) + "[" + std::to_string(range.begin) + "+" + std::to_string(range.size) + "]";
}

// The application's memory goes when the buffer that uses it has gone.
struct RandomProgram::HostMemory {
  std::shared_ptr<std::atomic<int>> open;
  Words words;

  static void CL_CALLBACK gone(cl_mem, void* data) {
    const std::unique_ptr<HostMemory> memory(static_cast<HostMemory*>(data));
    std::fill(memory->words.begin(), memory->words.end(), kUntouched);
    --*memory->open;
  }
};

void RandomProgram::make_memory(std::size_t index) {
  Memory& memory = memories_[index];
  memory = {};
  const std::size_t size = model_.words(index).size();
  const cl_mem_flags flags =
      choice_.of<cl_mem_flags>({0, CL_MEM_COPY_HOST_PTR, CL_MEM_COPY_HOST_PTR, CL_MEM_USE_HOST_PTR, CL_MEM_USE_HOST_PTR,
                                CL_MEM_ALLOC_HOST_PTR, CL_MEM_ALLOC_HOST_PTR | CL_MEM_COPY_HOST_PTR});
  Words content = words(size);
  auto host = std::make_unique<HostMemory>(HostMemory{callbacks_, content});
  const bool is_given = (flags & (CL_MEM_COPY_HOST_PTR | CL_MEM_USE_HOST_PTR)) != 0;
  memory.handle = make_buffer(context_, size * 4, CL_MEM_READ_WRITE | flags, is_given ? host->words.data() : nullptr);
  set_content(index, std::move(content), is_given);
  say("buffer " + std::to_string(index) + " is new, flags " + std::to_string(flags));
  if ((flags & CL_MEM_USE_HOST_PTR) == 0) return;
  memory.host = host->words.data();
  ++*callbacks_;
  check(clSetMemObjectDestructorCallback(memory.handle, HostMemory::gone, host.release()));
}

void RandomProgram::make_image() {
  model_.add(Words(kSide * kSide));
  memories_.emplace_back();
  Words content = words(kSide * kSide);
  memories_.back().handle = make_square_image(context_, kSide, content);
  set_content(image(), std::move(content), true);
}

void RandomProgram::set_content(std::size_t memory, Words content, bool is_known) {
  model_.words(memory) = std::move(content);
  model_.carry_out({.what = "creation", .writes = {all_of(memory)}, .undefines = !is_known}, 0);
}

std::shared_ptr<RandomProgram::Queue> RandomProgram::make_queue(std::size_t device, bool in_order) {
  const cl_command_queue_properties order = in_order ? 0 : CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  const cl_command_queue_properties times = choice_.one_in(4) ? CL_QUEUE_PROFILING_ENABLE : 0;
  auto queue = std::make_shared<Queue>();
  queue->handle = testing::make_queue(context_, devices_[device], order | times);
  queue->device = device;
  queue->in_order = in_order;
  return queue;
}

// Commands that use the former one may be under way.
void RandomProgram::replace_memory() {
  const std::size_t index = below(image());
  if (memories_[index].readers == 0 && !memories_[index].is_written) make_memory(index);
}

void RandomProgram::replace_queue() {
  std::shared_ptr<Queue>& queue = queues_[below(queues_.size())];
  const bool may_be_lost = std::any_of(under_way_.begin(), under_way_.end(),
                                       [&](const Shared& one) { return one->queue == queue && !one->event; });
  if (may_be_lost) return;  // only clFinish tells of their end
  say("a queue of device " + std::to_string(queue->device) + " is replaced");
  queue->handle.reset();
  queue = make_queue(queue->device, queue->in_order);
}

void RandomProgram::release_event() {
  const Shared some = pending();
  if (!some || !some->queue || !some->queue->handle) return;
  const bool is_waited_for = std::any_of(under_way_.begin(), under_way_.end(), [&](const Shared& one) {
    return std::find(one->waits.begin(), one->waits.end(), some) != one->waits.end();
  });
  const bool is_map = std::any_of(maps_.begin(), maps_.end(), [&](const Map& map) { return map.command == some; });
  if (is_map) return;
  say("release of the event of " + some->what + (is_waited_for ? ", which others wait for" : ""));
  some->event.reset();
  if (some->expected < 0) some->queue->may_have_failure = true;
}

Words RandomProgram::words(std::size_t count) {
  Words words(count);
  for (cl_uint& one : words) one = word();
  return words;
}

RandomProgram::Range RandomProgram::part_of(std::size_t memory) {
  const std::size_t size = model_.words(memory).size();
  const std::size_t wanted = std::min(size, choice_.of<std::size_t>({1, 7, 500, size / 2, size}));
  return {memory, below(size - wanted + 1), wanted};
}

RandomProgram::Range RandomProgram::rows_of_image() {
  const std::size_t rows = 1 + below(kSide);
  return {image(), below(kSide - rows + 1) * kSide, rows * kSide};
}

std::size_t RandomProgram::readable(std::size_t size, std::size_t other_than) {
  for (;;) {
    const std::size_t memory = below(image());
    if (memory != other_than && !memories_[memory].is_written && model_.words(memory).size() >= size) return memory;
    if (!maps_.empty() && choice_.one_in(8)) close_map();
  }
}

std::size_t RandomProgram::writable(std::size_t size, std::size_t other_than) {
  for (;;) {
    const std::size_t memory = readable(size, other_than);
    if (memories_[memory].readers == 0) return memory;
    if (choice_.one_in(8)) close_map();
  }
}
}  // namespace remotecl::testing
