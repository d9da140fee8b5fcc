// What RandomCommands does: a function for each kind of command.
#include <algorithm>

#include "icd/random_commands.h"

namespace remotecl::testing {
namespace {

constexpr std::size_t kAlignment = 1024;  // of sub-buffers, in words

std::string text_of(const ModelCommand::Range& range) {
  return std::to_string(range.memory) + "[" + std::to_string(range.begin) + "+" + std::to_string(range.size) + "]";
}

}  // namespace

// Transfers.

void RandomCommands::write() { write_range(queue(), part_of(buffer()), below(3) == 0); }

void RandomCommands::write_range(const Queue& on, const Range& range, bool blocking) {
  const auto data = std::make_shared<Words>(words(range.size));
  ModelCommand command{.what = "write of " + text_of(range), .writes = {range}, .blocking = blocking};
  command.effect = [range, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(range)); };
  enqueue(std::move(command), on, [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueWriteBuffer(handle, memories_[range.memory].handle, blocking, range.begin * 4, range.size * 4,
                                data->data(), count, waits, event);
  });
}

void RandomCommands::read() { read_range(queue(), part_of(buffer()), below(3) == 0); }

void RandomCommands::read_range(const Queue& on, const Range& range, bool blocking, bool survives) {
  const auto got = std::make_shared<Words>(range.size);
  ModelCommand command{.what = "read of " + text_of(range), .reads = {range}, .blocking = blocking};
  command.effect = [range, got, what = command.what](SequentialModel& model) {
    model.expect(what, range, got->data());
  };
  command.survives = survives;
  enqueue(std::move(command), on, [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueReadBuffer(handle, memories_[range.memory].handle, blocking, range.begin * 4, range.size * 4,
                               got->data(), count, waits, event);
  });
}

void RandomCommands::map() { map_with(CL_MAP_READ | CL_MAP_WRITE); }
void RandomCommands::map_for_writing() { map_with(CL_MAP_WRITE_INVALIDATE_REGION); }

void RandomCommands::map_with(cl_map_flags flags) {
  const Range range = part_of(buffer());
  const Queue& on = queue();
  const bool reads = (flags & CL_MAP_READ) != 0;
  cl_uint* mapped = nullptr;
  const auto got = std::make_shared<Words>();
  ModelCommand command{.what = "map of " + text_of(range), .blocking = true, .read_to = kHostLocation};
  if (reads) {
    command.reads = {range};
    command.effect = [range, got, what = command.what](SequentialModel& model) {
      model.expect(what, range, got->data());
    };
  }
  Memory& memory = memories_[range.memory];
  command.waits = after_all(memory);
  const bool is_mapped = enqueue(std::move(command), on, [&](auto handle, auto count, auto waits, auto event) {
    cl_int error = CL_SUCCESS;
    mapped = static_cast<cl_uint*>(clEnqueueMapBuffer(handle, memory.handle, CL_TRUE, flags, range.begin * 4,
                                                      range.size * 4, count, waits, event, &error));
    return error;
  });
  if (!is_mapped) return;
  if (reads) got->assign(mapped, mapped + range.size);
  unmap(on, range, mapped);
}

void RandomCommands::unmap(const Queue& on, const Range& range, cl_uint* mapped) {
  const auto data = std::make_shared<Words>(words(range.size));
  std::copy(data->begin(), data->end(), mapped);
  const auto unmap_on = [&](const Queue& one) {
    ModelCommand command{.what = "unmapping of " + text_of(range), .writes = {range}, .may_be_refused = false};
    command.effect = [range, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(range)); };
    return enqueue(std::move(command), one, [&](auto handle, auto count, auto waits, auto event) {
      return clEnqueueUnmapMemObject(handle, memories_[range.memory].handle, mapped, count, waits, event);
    });
  };
  // Who has lost the queue's device still has the mapping, and another one takes what was written.
  bool is_unmapped = unmap_on(on);
  while (!is_unmapped && !is_alone()) is_unmapped = unmap_on(living_queue());
}

void RandomCommands::migrate() {
  const std::size_t memory = below(4) == 0 ? image() : buffer();
  const bool to_host = below(3) == 0;
  ModelCommand command{.what = "migration of " + std::to_string(memory), .reads = {all_of(memory)}};
  if (to_host) command.read_to = Locations{0};  // perhaps here, too
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueMigrateMemObjects(handle, 1, memories_[memory].handle.pointer(),
                                      to_host ? CL_MIGRATE_MEM_OBJECT_HOST : 0, count, waits, event);
  });
}

// On the device.

void RandomCommands::copy() {
  const std::size_t from = buffer(), to = other_than(from);
  const std::size_t to_size = model_.words(to).size();
  Range source = part_of(from);
  source.size = std::min(source.size, to_size);
  const Range target{to, below(to_size - source.size + 1), source.size};
  ModelCommand command{
      .what = "copy from " + text_of(source) + " to " + text_of(target), .reads = {source}, .writes = {target}};
  command.effect = [source, target](SequentialModel& model) {
    std::copy_n(model.at(source), source.size, model.at(target));
  };
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueCopyBuffer(handle, memories_[from].handle, memories_[to].handle, source.begin * 4, target.begin * 4,
                               source.size * 4, count, waits, event);
  });
}

void RandomCommands::copy_rect() {
  const std::size_t from = buffer(), to = other_than(from);
  const std::size_t width = 1 + below(40), height = 1 + below(20), pitch = 50;
  const std::size_t there[3] = {4 * below(10), below(5), 0}, here[3] = {4 * below(10), below(5), 0};
  const std::size_t region[3] = {4 * width, height, 1};
  const std::size_t extent = (height - 1) * pitch + width;
  const Range source{from, there[1] * pitch + there[0] / 4, extent}, target{to, here[1] * pitch + here[0] / 4, extent};
  // The gaps of the target keep what they hold.
  ModelCommand command{.what = "copy of a rectangle from " + text_of(source) + " to " + text_of(target),
                       .reads = {source, target},
                       .writes = {target}};
  command.effect = [=](SequentialModel& model) {
    for (std::size_t y = 0; y < height; ++y) {
      std::copy_n(model.at(source) + y * pitch, width, model.at(target) + y * pitch);
    }
  };
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueCopyBufferRect(handle, memories_[from].handle, memories_[to].handle, there, here, region, 4 * pitch,
                                   0, 4 * pitch, 0, count, waits, event);
  });
}

void RandomCommands::fill() {
  const Range range = part_of(buffer());
  const cl_uint value = word();
  ModelCommand command{.what = "fill of " + text_of(range), .writes = {range}};
  command.effect = [=](SequentialModel& model) { std::fill_n(model.at(range), range.size, value); };
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueFillBuffer(handle, memories_[range.memory].handle, &value, 4, range.begin * 4, range.size * 4,
                               count, waits, event);
  });
}

// Runs one of the kernels whose arguments are memory and a number.
void RandomCommands::run_on(const Range& range, cl_mem argument, const char* kernel, cl_uint value,
                            std::function<void(SequentialModel&)> effect, bool reads) {
  const Owned<cl_kernel> one = make_kernel(program_, kernel);
  check(set_arg(one, 0, argument));
  check(set_arg(one, 1, value));
  ModelCommand command{.what = kernel + (" of " + text_of(range)), .writes = {range}, .effect = std::move(effect)};
  // Content that a command with a wait list gives up stays until that is known to take place.
  reads ? command.reads.push_back(range) : void(command.may_fetch = true);
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueNDRangeKernel(handle, one, 1, nullptr, &range.size, nullptr, count, waits, event);
  });
}

void RandomCommands::add() {
  const Range range = all_of(buffer());
  const cl_uint value = word();
  const auto effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < range.size; ++i) model.at(range)[i] += value;
  };
  run_on(range, memories_[range.memory].handle, "add_mv", value, effect, true);
}

void RandomCommands::add_to_part() {
  const std::size_t memory = buffer(), size = model_.words(memory).size();
  const std::size_t begin = kAlignment * below((size + kAlignment - 1) / kAlignment);
  const Range range{memory, begin, 1 + below(size - begin)};
  const cl_uint value = word();
  const auto effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < range.size; ++i) model.at(range)[i] += value;
  };
  const Owned<cl_mem> part = make_sub_buffer(memories_[memory].handle, range.begin * 4, range.size * 4);
  run_on(range, part, "add_mv", value, effect, true);
}

void RandomCommands::overwrite() {
  const Range range = all_of(buffer());
  const cl_mem memory = memories_[range.memory].handle;
  const cl_uint value = word();
  ModelCommand command{.what = "giving up of " + std::to_string(range.memory), .writes = {range}, .undefines = true};
  const bool is_undefined = enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueMigrateMemObjects(handle, 1, &memory, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, count, waits, event);
  });
  if (!is_undefined) return;
  const auto effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < range.size; ++i) model.at(range)[i] = value + static_cast<cl_uint>(i);
  };
  run_on(range, memory, "count_mv", value, effect, false);
}

void RandomCommands::mix() {
  const std::size_t from = buffer(), to = other_than(from);
  Range source = all_of(from), target = all_of(to);
  const std::size_t size = std::min(source.size, target.size);
  const Owned<cl_kernel> one = make_kernel(program_, "combine_mm");
  check(set_arg(one, 0, memories_[from].handle));
  check(set_arg(one, 1, memories_[to].handle));
  // The runtime knows which memory objects a kernel uses, but not how much of them.
  ModelCommand command{
      .what = "mix of " + text_of(source) + " into " + text_of(target), .reads = {source, target}, .writes = {target}};
  command.effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < size; ++i) model.at(target)[i] ^= model.at(source)[i] * 3u;
  };
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueNDRangeKernel(handle, one, 1, nullptr, &size, nullptr, count, waits, event);
  });
}

// Of the image.

void RandomCommands::brighten() {
  const Range source = all_of(image()), target = all_of(large_buffer());
  const Owned<cl_kernel> one = make_kernel(program_, "brighten_im");
  check(set_arg(one, 0, memories_[source.memory].handle));
  check(set_arg(one, 1, memories_[target.memory].handle));
  ModelCommand command{
      .what = "brightening of " + std::to_string(target.memory), .reads = {source, target}, .writes = {target}};
  command.effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < source.size; ++i) model.at(target)[i] += model.at(source)[i];
  };
  const std::size_t size[2] = {kSide, kSide};
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueNDRangeKernel(handle, one, 2, nullptr, size, nullptr, count, waits, event);
  });
}

void RandomCommands::copy_image() {
  const std::size_t from = large_buffer(), rows = 1 + below(kSide), row = below(kSide - rows + 1);
  const Range whole = all_of(image()), target{image(), row * kSide, rows * kSide};
  const Range source{from, below(model_.words(from).size() - target.size + 1), target.size};
  ModelCommand command{
      .what = "copy from " + text_of(source) + " to the image", .reads = {source, whole}, .writes = {whole}};
  command.effect = [=](SequentialModel& model) { std::copy_n(model.at(source), source.size, model.at(target)); };
  const std::size_t origin[3] = {0, row, 0}, region[3] = {kSide, rows, 1};
  enqueue(std::move(command), queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueCopyBufferToImage(handle, memories_[from].handle, memories_[image()].handle, source.begin * 4,
                                      origin, region, count, waits, event);
  });
}

void RandomCommands::write_image() {
  const std::size_t rows = 1 + below(kSide);
  write_rows(queue(), below(kSide - rows + 1), rows, below(2) == 0);
}

void RandomCommands::write_rows(const Queue& on, std::size_t row, std::size_t rows, bool blocking) {
  const Range whole = all_of(image()), target{image(), row * kSide, rows * kSide};
  const auto data = std::make_shared<Words>(words(target.size));
  ModelCommand command{
      .what = "write of " + std::to_string(rows) + " rows of the image", .writes = {whole}, .blocking = blocking};
  if (rows != kSide) command.reads = {whole};
  command.effect = [target, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(target)); };
  const std::size_t origin[3] = {0, row, 0}, region[3] = {kSide, rows, 1};
  enqueue(std::move(command), on, [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueWriteImage(handle, memories_[image()].handle, blocking, origin, region, 0, 0, data->data(), count,
                               waits, event);
  });
}

void RandomCommands::read_image(bool survives) {
  const Range range = all_of(image());
  const auto got = std::make_shared<Words>(range.size);
  ModelCommand command{.what = "read of the image", .reads = {range}, .blocking = true};
  command.effect = [range, got](SequentialModel& model) { model.expect("read of the image", range, got->data()); };
  const std::size_t origin[3] = {}, region[3] = {kSide, kSide, 1};
  command.survives = survives;
  enqueue(std::move(command), living_queue(), [&](auto handle, auto count, auto waits, auto event) {
    return clEnqueueReadImage(handle, memories_[image()].handle, CL_TRUE, origin, region, 0, 0, got->data(), count,
                              waits, event);
  });
}

}  // namespace remotecl::testing
