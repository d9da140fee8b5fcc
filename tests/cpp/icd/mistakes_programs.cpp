#include <algorithm>

#include "icd/mistakes.h"

namespace remotecl::testing {
namespace {

constexpr char kSmall[] = "kernel void small(global int* data) { if (data) data[0] = 1; }";

std::vector<unsigned char> binary_of(cl_program program) {
  const auto bytes = value<std::size_t>(clGetProgramInfo, program, cl_uint{CL_PROGRAM_BINARY_SIZES});
  std::vector<unsigned char> binary(bytes);
  unsigned char* to = binary.data();
  check(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr));
  return binary;
}

}  // namespace

// A file of which a part is missing, or that is another one.
cl_int Mistakes::load_binary(Choice& choice) {
  std::vector<unsigned char> binary = binary_of(program_);
  if (choice.one_in(2)) binary.resize(choice.of<std::size_t>({1, 7, 64, binary.size() / 2, binary.size() - 1}));
  if (choice.one_in(6)) std::fill(binary.begin(), binary.end(), static_cast<unsigned char>(choice.below(256)));
  const unsigned char* from = binary.data();
  const std::size_t bytes = binary.size();
  cl_int status = CL_SUCCESS, code = CL_SUCCESS;
  const Owned<cl_program> program(clCreateProgramWithBinary(context_, 1, &device_, &bytes, &from, &status, &code));
  if (code == CL_SUCCESS) code = clBuildProgram(program, 1, &device_, nullptr, nullptr, nullptr);
  if (code != CL_SUCCESS) return code;
  const Owned<cl_kernel> kernel(clCreateKernel(program, "add", &code));
  if (code != CL_SUCCESS) return code;
  check(set_arg(kernel, 0, plain_));
  check(set_arg(kernel, 1, 1));
  return launch(kernel, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

cl_int Mistakes::link_programs(Choice& choice) {
  const Owned<cl_program> program = make_program(context_, kSmall);
  cl_int code = CL_SUCCESS;
  if (!choice.one_in(6)) {
    const Owned<cl_program> header = make_program(context_, choice.usually("int x;", {"", "#include \"b.h\""}));
    const cl_program headers[] = {choice.one_in(8) ? program_ : header};
    const char* names[] = {choice.usually("a.h", {"", "../a.h", "/tmp/a.h", "a/b.h"})};
    const bool includes = choice.one_in(4);
    code = clCompileProgram(program, 1, &device_, nullptr, includes ? 1 : 0, includes ? headers : nullptr,
                            includes ? names : nullptr, nullptr, nullptr);
    if (code != CL_SUCCESS) return code;
  }
  const cl_program inputs[] = {program, choice.of<cl_program>({program, program_, nullptr})};
  const char* const options = choice.usually<const char*>("", {"-create-library", "-enable-link-options", "-nonsense"});
  const Owned<cl_program> linked(clLinkProgram(context_, 1, &device_, options, choice.usually<cl_uint>(1, {0, 2}),
                                               inputs, nullptr, nullptr, &code));
  if (code != CL_SUCCESS) return code;
  const Owned<cl_kernel> kernel(clCreateKernel(linked, "small", &code));
  if (code != CL_SUCCESS) return code;
  check(set_arg(kernel, 0, plain_));
  return launch(kernel, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
}

// What is released while something still uses it.
cl_int Mistakes::release_early(Choice& choice) {
  Owned<cl_mem> whole = make_buffer(context_, kSize);
  Owned<cl_mem> part = make_sub_buffer(whole, 1024, 1024);
  Owned<cl_program> program = build(context_, kSmall);
  Owned<cl_kernel> kernel = make_kernel(program, "small");
  Owned<cl_command_queue> queue = make_queue(context_, device_, choice.below(4));
  check(set_arg(kernel, 0, part));
  const std::size_t one = 1;
  Owned<cl_event> event;
  if (choice.one_in(2)) whole.reset();
  if (choice.one_in(4)) part.reset();
  cl_int code = clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &one, nullptr, 0, nullptr, event.out());
  if (choice.one_in(2)) kernel.reset();
  if (choice.one_in(2)) program.reset();
  if (choice.one_in(2)) part.reset();
  if (choice.one_in(2)) queue.reset();
  if (code != CL_SUCCESS) return code;
  code = clWaitForEvents(1, event.pointer());
  return settle(code);
}

// Images that lie in a buffer, or in a part of one.
cl_int Mistakes::view_buffer(Choice& choice) {
  const cl_image_format format{CL_RGBA, choice.of<cl_channel_type>({CL_SIGNED_INT32, CL_UNSIGNED_INT8})};
  cl_image_desc description{};
  description.image_type = choice.of<cl_mem_object_type>({CL_MEM_OBJECT_IMAGE2D, CL_MEM_OBJECT_IMAGE1D_BUFFER});
  description.image_width = choice.usually<std::size_t>(8, {0, 1, 64, 257});
  description.image_height = choice.usually<std::size_t>(4, {0, 1, 64});
  description.image_row_pitch = choice.usually<std::size_t>(0, {1, 128, 256, 512});
  description.buffer = choice.of<cl_mem>({plain_, part_, buffer(choice)});
  cl_int code = CL_SUCCESS;
  const Owned<cl_mem> view(clCreateImage(context_, 0, &format, &description, nullptr, &code));
  if (code != CL_SUCCESS) return code;
  const Region place = region(choice);
  const cl_int4 color{{1, 2, 3, 4}};
  switch (choice.below(5)) {
    case 0:
      code = clEnqueueFillImage(queue_, view, &color, place.origin.data(), place.size.data(), 0, nullptr, nullptr);
      break;
    case 1:
      code = clEnqueueCopyImageToBuffer(queue_, view, buffer(choice), place.origin.data(), place.size.data(), 0, 0,
                                        nullptr, nullptr);
      break;
    case 2:
      code = clEnqueueReadImage(queue_, view, CL_TRUE, place.origin.data(), place.size.data(), 0, 0, host(), 0, nullptr,
                                nullptr);
      break;
    case 3:
      code = clEnqueueCopyImage(queue_, images_[0], view, place.origin.data(), place.origin.data(), place.size.data(),
                                0, nullptr, nullptr);
      break;
    default:
      code = set_arg(paints_, 0, view);
      return code != CL_SUCCESS ? code : launch(paints_, {1, {}, {1, 1, 1}, {1, 1, 1}, false});
  }
  return settle(code);
}

}  // namespace remotecl::testing
