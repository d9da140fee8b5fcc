#include "icd/wrong_calls.h"

namespace remotecl::testing {

World::World(cl_device_id on) : device(on), context(make_context({on})), foreign_context(make_context({on})) {
  queue = make_queue(context, device);
  buffer = make_buffer(context, 4096);
  other = make_buffer(context, 4096);
  foreign = make_buffer(foreign_context, 4096);
  host_no_access = make_buffer(context, 4096, CL_MEM_HOST_NO_ACCESS);
  host_read_only = make_buffer(context, 4096, CL_MEM_HOST_READ_ONLY);
  host_write_only = make_buffer(context, 4096, CL_MEM_HOST_WRITE_ONLY);
  sub = make_sub_buffer(buffer, 0, 2048);
  sub_overlapping = make_sub_buffer(buffer, 1024, 2048);
  program = build(context, kSource);
  unbuilt = make_program(context, kSource);
  broken = make_program(context, "kernel void f(global int* x) { x[0] = nonsense; }");
  clBuildProgram(broken, 0, nullptr, nullptr, nullptr, nullptr);
  add = make_kernel(program, "add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  no_arguments_set = make_kernel(program, "add");
  sum_local = make_kernel(program, "sum_local");
  by_four = make_kernel(program, "by_four");
  check(set_arg(by_four, 0, buffer));
  by_four_and_two = make_kernel(program, "by_four_and_two");
  check(set_arg(by_four_and_two, 0, buffer));
  gate = make_user_event(context);
  foreign_event = make_user_event(foreign_context);
  failed = make_user_event(context);
  check(clSetUserEventStatus(failed, -7));
}

// Never destroyed: drivers take themselves down at exit, in any order.
World& World::native() {
  static World& world = *new World(Environment::get().native_device());
  return world;
}
World& World::remote() {
  static World& world = *new World(Environment::get().devices()[0]);
  return world;
}

TEST_P(WrongCallTest, GivesTheSpecifiedError) {
  const WrongCall& row = GetParam();
  const std::string suite = ::testing::UnitTest::GetInstance()->current_test_info()->test_suite_name();
  const auto svm = value<cl_device_svm_capabilities>(clGetDeviceInfo, Environment::get().devices()[0],
                                                     cl_uint{CL_DEVICE_SVM_CAPABILITIES});
  if (suite.starts_with("Svm") && svm == 0) GTEST_SKIP() << "the device has no shared virtual memory";
  if (row.expected == CL_MISALIGNED_SUB_BUFFER_OFFSET && !Environment::get().is_pocl())
    GTEST_SKIP() << "the driver may take it, as NVIDIA's does";
  EXPECT_EQ(row.call(World::remote()), row.expected) << "through remotecl";
  if (*row.native_differs != '\0' || !Environment::get().is_pocl()) return;
  EXPECT_EQ(row.call(World::native()), row.expected) << "natively";
}

}  // namespace remotecl::testing
