#include "icd/mistakes.h"

#include <iterator>

namespace remotecl::testing {
namespace {

// Touch as little as they can: what is tested is what is checked before they run.
constexpr char kMistakenKernels[] = R"(
kernel void add(global int* data, int value) { if (data) data[0] += value; }
kernel __attribute__((reqd_work_group_size(4, 1, 1))) void by_four(global int* data) { if (data) data[0] = 4; }
kernel void local_sum(global int* data, local int* scratch) {
  scratch[0] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (data) data[0] = scratch[0];
}
kernel void looks(read_only image2d_t image, sampler_t sampler, global int* data) {
  if (data) data[0] = read_imagei(image, sampler, (int2)(0, 0)).x;
}
kernel void paints(write_only image2d_t image) { write_imagei(image, (int2)(0, 0), (int4)(1, 2, 3, 4)); }
kernel void values(global int* data, long one, float4 four, char small) {
  if (data) data[0] = (int)one + (int)four.x + small;
}
)";

Owned<cl_mem> make_image(cl_context context, cl_mem_object_type type, std::size_t height, std::size_t depth,
                         std::size_t layers, cl_mem buffer = nullptr) {
  const cl_image_format format{CL_RGBA, CL_SIGNED_INT32};
  cl_image_desc description{};
  description.image_type = type;
  description.image_width = 8;
  description.image_height = height;
  description.image_depth = depth;
  description.image_array_size = layers;
  description.buffer = buffer;
  return Owned<cl_mem>(clCreateImage(context, CL_MEM_READ_WRITE, &format, &description, nullptr, nullptr));
}

}  // namespace

Mistakes::Mistakes(cl_device_id device)
    : device_(device), context_(make_context({device})), foreign_context_(make_context({device})) {
  queue_ = make_queue(context_, device);
  foreign_queue_ = make_queue(foreign_context_, device);
  plain_ = make_buffer(context_, kSize);
  read_only_ = make_buffer(context_, kSize, CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY);
  write_only_ = make_buffer(context_, kSize, CL_MEM_WRITE_ONLY | CL_MEM_HOST_READ_ONLY);
  part_ = make_sub_buffer(plain_, 1024, 1024);
  foreign_ = make_buffer(foreign_context_, kSize);
  images_.push_back(make_image(context_, CL_MEM_OBJECT_IMAGE2D, 8, 0, 0));
  images_.push_back(make_image(context_, CL_MEM_OBJECT_IMAGE1D, 0, 0, 0));
  images_.push_back(make_image(context_, CL_MEM_OBJECT_IMAGE3D, 8, 4, 0));
  images_.push_back(make_image(context_, CL_MEM_OBJECT_IMAGE2D_ARRAY, 8, 0, 4));
  images_.push_back(make_image(context_, CL_MEM_OBJECT_IMAGE1D_ARRAY, 0, 0, 4));
  images_.push_back(make_image(context_, CL_MEM_OBJECT_IMAGE1D_BUFFER, 0, 0, 0, plain_));
  sampler_ = clCreateSampler(context_, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, nullptr);
  svm_ = static_cast<char*>(clSVMAlloc(context_, CL_MEM_READ_WRITE, kSize, 0));
  program_ = build(context_, kMistakenKernels);
  add_ = make_kernel(program_, "add");
  by_four_ = make_kernel(program_, "by_four");
  local_ = make_kernel(program_, "local_sum");
  looks_ = make_kernel(program_, "looks");
  paints_ = make_kernel(program_, "paints");
  values_ = make_kernel(program_, "values");
  ended_ = make_user_event(context_);
  check(clSetUserEventStatus(ended_, CL_COMPLETE));
  failed_ = make_user_event(context_);
  check(clSetUserEventStatus(failed_, -7));
  foreign_event_ = make_user_event(foreign_context_);
  check(clSetUserEventStatus(foreign_event_, CL_COMPLETE));
  local_size_ = value<cl_ulong>(clGetDeviceInfo, device, cl_uint{CL_DEVICE_LOCAL_MEM_SIZE});
}

const Mistakes::Call& Mistakes::call_of(std::uint64_t seed) { return kCalls[Choice(seed).below(kCallCount)]; }

cl_int Mistakes::make(std::uint64_t seed) {
  // What earlier calls may have changed.
  set_arg(add_, 0, plain_);
  set_arg(add_, 1, 1);
  set_arg(by_four_, 0, plain_);
  set_arg(local_, 0, plain_);
  clSetKernelArg(local_, 1, 64, nullptr);
  set_arg(looks_, 0, images_[0]);
  set_arg(looks_, 1, sampler_);
  set_arg(looks_, 2, plain_);
  set_arg(paints_, 0, images_[0]);
  set_arg(values_, 0, plain_);
  set_arg(values_, 1, cl_long{1});
  set_arg(values_, 2, cl_float4{{1, 2, 3, 4}});
  set_arg(values_, 3, char{1});
  Choice choice(seed);
  const Call& call = kCalls[choice.below(kCallCount)];
  return (this->*call.make)(choice);
}

cl_int Mistakes::settle(cl_int code, cl_event event) {
  const Owned<cl_event> owner(event);
  const cl_int finished = clFinish(queue_);
  if (code != CL_SUCCESS) return code;
  if (event != nullptr && status(event) < 0) return status(event);
  return finished;
}

std::size_t Mistakes::offset(Choice& choice) {
  return choice.usually(choice.below(16) * 128, {1, 3, kSize - 4, kSize, kSize + 1, ~std::size_t{0}});
}

std::size_t Mistakes::size(Choice& choice) {
  return choice.usually((choice.below(15) + 1) * 128, {0, 1, 3, kSize, kSize + 1, ~std::size_t{0} - 3});
}

cl_mem Mistakes::buffer(Choice& choice) {
  return choice.usually<cl_mem>(plain_, {read_only_, write_only_, part_, foreign_, nullptr, images_[0].get()});
}

cl_mem Mistakes::image(Choice& choice) {
  return choice.usually<cl_mem>(images_[choice.below(images_.size())], {plain_, foreign_, nullptr});
}

Mistakes::Waits Mistakes::waits(Choice& choice) {
  Waits waits{{}, 0, nullptr};
  if (!choice.one_in(4)) return waits;
  const std::size_t count = choice.below(3);
  for (std::size_t i = 0; i < count; ++i) {
    waits.events.push_back(choice.usually<cl_event>(ended_, {failed_, foreign_event_, nullptr}));
  }
  waits.count = static_cast<cl_uint>(count);
  if (choice.one_in(8)) waits.count = 1 - waits.count % 2;  // and the list is empty, or is not counted
  waits.list = waits.events.size() < waits.count || waits.events.empty() ? nullptr : waits.events.data();
  return waits;
}

const Mistakes::Call Mistakes::kCalls[] = {
    {"create_buffer", &Mistakes::create_buffer},
    {"create_sub_buffer", &Mistakes::create_sub_buffer},
    {"read_buffer", &Mistakes::read_buffer},
    {"write_buffer", &Mistakes::write_buffer},
    {"copy_buffer", &Mistakes::copy_buffer},
    {"fill_buffer", &Mistakes::fill_buffer},
    {"read_rect", &Mistakes::read_rect},
    {"copy_rect", &Mistakes::copy_rect},
    {"map_buffer", &Mistakes::map_buffer},
    {"migrate", &Mistakes::migrate},
    {"svm_alloc", &Mistakes::svm_alloc},
    {"svm_copy", &Mistakes::svm_copy},
    {"svm_fill", &Mistakes::svm_fill},
    {"svm_map", &Mistakes::svm_map},
    {"create_image", &Mistakes::create_image},
    {"create_sampler", &Mistakes::create_sampler},
    {"read_image", &Mistakes::read_image},
    {"write_image", &Mistakes::write_image},
    {"copy_image", &Mistakes::copy_image},
    {"copy_image_to_buffer", &Mistakes::copy_image_to_buffer},
    {"copy_buffer_to_image", &Mistakes::copy_buffer_to_image},
    {"fill_image", &Mistakes::fill_image},
    {"map_image", &Mistakes::map_image},
    {"image_formats", &Mistakes::image_formats},
    {"run_range", &Mistakes::run_range},
    {"run_task", &Mistakes::run_task},
    {"set_value", &Mistakes::set_value},
    {"set_memory", &Mistakes::set_memory},
    {"set_image", &Mistakes::set_image},
    {"set_sampler", &Mistakes::set_sampler},
    {"set_local", &Mistakes::set_local},
    {"set_svm", &Mistakes::set_svm},
    {"wait_for", &Mistakes::wait_for},
    {"work_group_info", &Mistakes::work_group_info},
    {"sub_group_info", &Mistakes::sub_group_info},
    {"suggested_size", &Mistakes::suggested_size},
    {"build_options", &Mistakes::build_options},
    {"built_in_kernels", &Mistakes::built_in_kernels},
    {"create_queue", &Mistakes::create_queue},
    {"sub_devices", &Mistakes::sub_devices},
    {"load_binary", &Mistakes::load_binary},
    {"link_programs", &Mistakes::link_programs},
    {"release_early", &Mistakes::release_early},
    {"view_buffer", &Mistakes::view_buffer},
};
const std::size_t Mistakes::kCallCount = std::size(kCalls);

}  // namespace remotecl::testing
