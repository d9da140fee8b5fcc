#include "icd/mistakes.h"

namespace remotecl::testing {
namespace {

cl_mem_flags memory_flags(Choice& choice) {
  return choice.usually<cl_mem_flags>(
      CL_MEM_READ_WRITE, {0, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
                          CL_MEM_HOST_NO_ACCESS, CL_MEM_ALLOC_HOST_PTR, CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
                          CL_MEM_USE_HOST_PTR, cl_mem_flags{1} << 40});
}

std::array<std::size_t, 3> rect_sizes(Choice& choice) {
  return {choice.usually(choice.below(32) + 1, {0, 4096, ~std::size_t{0}}),
          choice.usually(choice.below(4) + 1, {0, 200}), choice.usually<std::size_t>(1, {0, 2, 3, 100})};
}

std::array<std::size_t, 3> rect_origin(Choice& choice) {
  return {choice.usually(choice.below(8), {4095, ~std::size_t{0}}), choice.usually(choice.below(4), {200}),
          choice.usually<std::size_t>(0, {1, 2, 100})};
}

std::size_t row_pitch(Choice& choice) { return choice.usually<std::size_t>(0, {1, 31, 32, 33, 64, 4097}); }
std::size_t slice_pitch(Choice& choice) { return choice.usually<std::size_t>(0, {1, 128, 256, 255, 2048, 5000}); }

}  // namespace

cl_int Mistakes::create_buffer(Choice& choice) {
  cl_int code = CL_SUCCESS;
  const cl_mem_flags flags = memory_flags(choice);
  const std::size_t bytes = choice.usually<std::size_t>(64, {0, 1, ~std::size_t{0}, std::size_t{1} << 45});
  const Owned<cl_mem> made(clCreateBuffer(context_, flags, bytes, nullptr, &code));
  if (code != CL_SUCCESS) return code;
  const int pattern = 1;
  cl_event event = nullptr;
  code = clEnqueueFillBuffer(queue_, made, &pattern, 1, 0, 1, 0, nullptr, &event);
  return settle(code, event);
}

cl_int Mistakes::create_sub_buffer(Choice& choice) {
  const cl_mem of = buffer(choice);
  const cl_buffer_region region{choice.usually(choice.below(8) * 128, {0, 4, 64, kSize - 4, kSize, ~std::size_t{0}}),
                                choice.usually<std::size_t>(256, {0, 4, kSize, kSize + 1, ~std::size_t{0}})};
  const cl_mem_flags flags = memory_flags(choice);
  const auto type = choice.usually<cl_buffer_create_type>(CL_BUFFER_CREATE_TYPE_REGION, {0});
  cl_int code = CL_SUCCESS;
  const Owned<cl_mem> made(clCreateSubBuffer(of, flags, type, choice.one_in(20) ? nullptr : &region, &code));
  if (code != CL_SUCCESS) return code;
  code = set_arg(add_, 0, made);
  return code != CL_SUCCESS ? code : launch(add_, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

cl_int Mistakes::read_buffer(Choice& choice) {
  const cl_mem from = buffer(choice);
  const std::size_t at = offset(choice), bytes = size(choice);
  void* to = choice.one_in(20) ? nullptr : host();
  const Waits after = waits(choice);
  cl_event event = nullptr;
  const cl_int code =
      clEnqueueReadBuffer(queue_, from, choice.below(2) != 0, at, bytes, to, after.count, after.list, &event);
  return settle(code, event);
}

cl_int Mistakes::write_buffer(Choice& choice) {
  const cl_mem to = buffer(choice);
  const std::size_t at = offset(choice), bytes = size(choice);
  const void* from = choice.one_in(20) ? nullptr : host();
  const Waits after = waits(choice);
  cl_event event = nullptr;
  const cl_int code =
      clEnqueueWriteBuffer(queue_, to, choice.below(2) != 0, at, bytes, from, after.count, after.list, &event);
  return settle(code, event);
}

cl_int Mistakes::copy_buffer(Choice& choice) {
  const cl_mem from = buffer(choice), to = buffer(choice);
  const std::size_t source = offset(choice), destination = offset(choice), bytes = size(choice);
  const Waits after = waits(choice);
  cl_event event = nullptr;
  return settle(clEnqueueCopyBuffer(queue_, from, to, source, destination, bytes, after.count, after.list, &event),
                event);
}

cl_int Mistakes::fill_buffer(Choice& choice) {
  const cl_mem to = buffer(choice);
  const std::size_t at = offset(choice), bytes = size(choice);
  const auto pattern = choice.usually<std::size_t>(4, {0, 1, 2, 3, 8, 16, 24, 32, 64, 128, 256});
  const void* from = choice.one_in(20) ? nullptr : host();
  const Waits after = waits(choice);
  cl_event event = nullptr;
  return settle(clEnqueueFillBuffer(queue_, to, from, pattern, at, bytes, after.count, after.list, &event), event);
}

cl_int Mistakes::read_rect(Choice& choice) {
  const cl_mem from = buffer(choice);
  const auto origin = rect_origin(choice), region = rect_sizes(choice);
  const std::array<std::size_t, 3> host_origin{choice.below(4), 0, 0};
  const std::size_t row = row_pitch(choice), slice = slice_pitch(choice);
  const std::size_t host_row = row_pitch(choice), host_slice = slice_pitch(choice);
  cl_event event = nullptr;
  const bool writes = choice.one_in(2);
  const cl_int code =
      writes ? clEnqueueWriteBufferRect(queue_, from, CL_FALSE, origin.data(), host_origin.data(), region.data(), row,
                                        slice, host_row, host_slice, host(), 0, nullptr, &event)
             : clEnqueueReadBufferRect(queue_, from, CL_FALSE, origin.data(), host_origin.data(), region.data(), row,
                                       slice, host_row, host_slice, host(), 0, nullptr, &event);
  return settle(code, event);
}

cl_int Mistakes::copy_rect(Choice& choice) {
  const cl_mem from = buffer(choice), to = buffer(choice);
  const auto source = rect_origin(choice), destination = rect_origin(choice), region = rect_sizes(choice);
  const std::size_t row = row_pitch(choice), slice = slice_pitch(choice);
  const std::size_t to_row = row_pitch(choice), to_slice = slice_pitch(choice);
  cl_event event = nullptr;
  return settle(clEnqueueCopyBufferRect(queue_, from, to, source.data(), destination.data(), region.data(), row, slice,
                                        to_row, to_slice, 0, nullptr, &event),
                event);
}

cl_int Mistakes::map_buffer(Choice& choice) {
  const cl_mem of = buffer(choice);
  const auto flags = choice.usually<cl_map_flags>(
      CL_MAP_READ, {0, CL_MAP_WRITE, CL_MAP_READ | CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION,
                    CL_MAP_READ | CL_MAP_WRITE_INVALIDATE_REGION, 1u << 9});
  const std::size_t at = offset(choice), bytes = size(choice);
  cl_int code = CL_SUCCESS;
  void* const mapped = clEnqueueMapBuffer(queue_, of, CL_TRUE, flags, at, bytes, 0, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return code;
  void* const back = choice.usually<void*>(mapped, {nullptr, static_cast<char*>(mapped) + 1, host()});
  code = clEnqueueUnmapMemObject(queue_, of, back, 0, nullptr, nullptr);
  if (back != mapped) clEnqueueUnmapMemObject(queue_, of, mapped, 0, nullptr, nullptr);
  return settle(code);
}

cl_int Mistakes::migrate(Choice& choice) {
  const cl_mem objects[] = {buffer(choice), image(choice)};
  const auto count = choice.usually<cl_uint>(1, {0, 2});
  const auto flags = choice.usually<cl_mem_migration_flags>(
      0, {CL_MIGRATE_MEM_OBJECT_HOST, CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED, 1u << 9});
  const Waits after = waits(choice);
  cl_event event = nullptr;
  return settle(clEnqueueMigrateMemObjects(queue_, count, objects, flags, after.count, after.list, &event), event);
}

cl_int Mistakes::svm_alloc(Choice& choice) {
  const auto flags = choice.usually<cl_svm_mem_flags>(
      CL_MEM_READ_WRITE, {0, CL_MEM_READ_ONLY, CL_MEM_SVM_ATOMICS, CL_MEM_SVM_FINE_GRAIN_BUFFER,
                          CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS, CL_MEM_USE_HOST_PTR});
  const std::size_t bytes = choice.usually<std::size_t>(256, {0, 1, ~std::size_t{0}, std::size_t{1} << 45});
  const cl_uint alignment = choice.usually<cl_uint>(0, {1, 3, 16, 64, 128, 4096, 1u << 30});
  void* const memory = clSVMAlloc(context_, flags, bytes, alignment);
  if (memory == nullptr) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  const char pattern = 1;
  const cl_int code = settle(clEnqueueSVMMemFill(queue_, memory, &pattern, 1, bytes, 0, nullptr, nullptr));
  clSVMFree(context_, memory);
  return code;
}

cl_int Mistakes::svm_copy(Choice& choice) {
  char* const to = choice.usually(svm_ + choice.below(8) * 128, {static_cast<char*>(nullptr), host()});
  const char* const from =
      choice.usually(svm_ + 2048 + choice.below(4) * 128, {static_cast<char*>(nullptr), svm_, host()});
  const std::size_t bytes = choice.usually<std::size_t>(128, {0, 1, 1024});
  const Waits after = waits(choice);
  cl_event event = nullptr;
  return settle(clEnqueueSVMMemcpy(queue_, choice.below(2) != 0, to, from, bytes, after.count, after.list, &event),
                event);
}

cl_int Mistakes::svm_fill(Choice& choice) {
  char* const to = choice.usually(svm_ + choice.below(8) * 128, {static_cast<char*>(nullptr), svm_ + 1, svm_ + 4});
  const auto pattern = choice.usually<std::size_t>(4, {0, 1, 3, 16, 64, 128, 256});
  const std::size_t bytes = choice.usually<std::size_t>(128, {0, 1, 130, 1024});
  cl_event event = nullptr;
  const void* from = choice.one_in(20) ? nullptr : host();
  return settle(clEnqueueSVMMemFill(queue_, to, from, pattern, bytes, 0, nullptr, &event), event);
}

cl_int Mistakes::svm_map(Choice& choice) {
  char* const at = choice.usually(svm_ + choice.below(8) * 128, {static_cast<char*>(nullptr)});
  const std::size_t bytes = choice.usually<std::size_t>(128, {0, 1, 1024});
  const auto flags = choice.usually<cl_map_flags>(CL_MAP_READ, {0, CL_MAP_WRITE, 1u << 9});
  const cl_int code = settle(clEnqueueSVMMap(queue_, CL_TRUE, flags, at, bytes, 0, nullptr, nullptr));
  if (code != CL_SUCCESS) return code;
  return settle(clEnqueueSVMUnmap(queue_, at, 0, nullptr, nullptr));
}

}  // namespace remotecl::testing
