// What RandomProgram does with its image, which is read and written in whole rows.
#include <gtest/gtest.h>

#include <algorithm>

#include "icd/random_program.h"

namespace remotecl::testing {

void RandomProgram::brighten() {
  if (memories_.back().is_written) return;
  const Range source = all_of(image()), target = all_of(writable(kSide * kSide));
  const Shared one = command("brightening of " + std::to_string(target.memory), {source, target}, {target});
  one->effect = [=](SequentialModel& model) {
    for (std::size_t i = 0; i < source.size; ++i) model.at(target)[i] += model.at(source)[i];
  };
  const auto set = [&](cl_kernel kernel) {
    check(set_arg(kernel, 0, memories_[source.memory].handle));
    check(set_arg(kernel, 1, memories_[target.memory].handle));
  };
  run_kernel(one, "brighten_im", set, kSide, kSide);
}

void RandomProgram::write_image() {
  const Range rows = rows_of_image();
  const auto data = std::make_shared<Words>(words(rows.size));
  const Shared one = command("write of " + text_of(rows) + " of the image", {}, {rows});
  one->effect = [rows, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(rows)); };
  one->at_end = [data](bool) { std::fill(data->begin(), data->end(), kUntouched); };
  one->is_write = true;
  one->blocks = choice_.one_in(2);
  const std::size_t origin[3] = {0, rows.begin / kSide, 0}, region[3] = {kSide, rows.size / kSide, 1};
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueWriteImage(queue, handle(image()), one->blocks, origin, region, 0, 0, data->data(), count, waits,
                               event);
  });
}

void RandomProgram::read_image() { read_rows(rows_of_image(), choice_.one_in(2)); }

void RandomProgram::read_rows(const Range& rows, bool blocks) {
  const auto got = std::make_shared<Words>(rows.size, kUntouched);
  const auto content = std::make_shared<Content>();
  const Shared one = command("read of " + text_of(rows) + " of the image", {rows}, {});
  one->effect = [rows, content](SequentialModel& model) { *content = model.content(rows); };
  one->at_end = [rows, got, content, what = one->what](bool succeeded) {
    if (succeeded) content->expect(what, rows, got->data());
  };
  one->blocks = blocks;
  const std::size_t origin[3] = {0, rows.begin / kSide, 0}, region[3] = {kSide, rows.size / kSide, 1};
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueReadImage(queue, handle(image()), blocks, origin, region, 0, 0, got->data(), count, waits, event);
  });
}

void RandomProgram::copy_to_image() {
  const Range target = rows_of_image();
  const std::size_t from = readable(target.size);
  const Range source{from, below(model_.words(from).size() - target.size + 1), target.size};
  const Shared one = command("copy from " + text_of(source) + " to the image", {source}, {target});
  one->effect = [=](SequentialModel& model) { std::copy_n(model.at(source), source.size, model.at(target)); };
  const std::size_t origin[3] = {0, target.begin / kSide, 0}, region[3] = {kSide, target.size / kSide, 1};
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueCopyBufferToImage(queue, handle(from), handle(image()), source.begin * 4, origin, region, count,
                                      waits, event);
  });
}

void RandomProgram::copy_from_image() {
  const Range source = rows_of_image();
  const std::size_t to = writable(source.size);
  const Range target{to, below(model_.words(to).size() - source.size + 1), source.size};
  const Shared one = command("copy from the image to " + text_of(target), {source}, {target});
  one->effect = [=](SequentialModel& model) { std::copy_n(model.at(source), source.size, model.at(target)); };
  const std::size_t origin[3] = {0, source.begin / kSide, 0}, region[3] = {kSide, source.size / kSide, 1};
  enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueCopyImageToBuffer(queue, handle(image()), handle(to), origin, region, target.begin * 4, count,
                                      waits, event);
  });
}

void RandomProgram::map_image() {
  const Range rows = rows_of_image();
  const bool writes = choice_.one_in(2);
  const auto content = std::make_shared<Content>();
  const auto data = std::make_shared<Words>(words(rows.size));
  const std::vector<Range> used{rows}, none;
  const Shared one = command("map of " + text_of(rows) + " of the image", used, writes ? used : none);
  one->effect = [rows, content](SequentialModel& model) { *content = model.content(rows); };
  const bool waits_singly = choice_.one_in(2);
  one->blocks = !waits_singly;
  one->needs_event = true;
  const std::size_t origin[3] = {0, rows.begin / kSide, 0}, region[3] = {kSide, rows.size / kSide, 1};
  std::size_t pitch = 0;
  char* mapped = nullptr;
  const bool is_mapped = enqueue(one, [&](auto queue, auto count, auto waits, auto event) {
    cl_int error = CL_SUCCESS;
    mapped = static_cast<char*>(clEnqueueMapImage(queue, handle(image()), one->blocks,
                                                  writes ? CL_MAP_READ | CL_MAP_WRITE : CL_MAP_READ, origin, region,
                                                  &pitch, nullptr, count, waits, event, &error));
    return error;
  });
  if (!is_mapped) return;
  if (!one->has_ended) wait(one);
  Words got;
  for (std::size_t row = 0; row < region[1]; ++row) {
    auto* const words = reinterpret_cast<cl_uint*>(mapped + row * pitch);
    got.insert(got.end(), words, words + kSide);
    if (writes) std::copy_n(data->data() + row * kSide, kSide, words);
  }
  content->expect(one->what, rows, got.data());
  const Shared unmap = command("unmapping of the image", {rows}, {});
  unmap->may_fail = false;
  if (writes) {
    unmap->writes = {rows};
    unmap->effect = [rows, data](SequentialModel& model) { std::copy(data->begin(), data->end(), model.at(rows)); };
  }
  enqueue(unmap, [&](auto queue, auto count, auto waits, auto event) {
    return clEnqueueUnmapMemObject(queue, handle(image()), mapped, count, waits, event);
  });
}

}  // namespace remotecl::testing
