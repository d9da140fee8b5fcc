// The automatic device itself, its contexts and its programs, over three servers.
#include "extras/scheduling/icd/automatic_device_fixture.h"
#include "icd/statistics.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;

std::vector<cl_device_id> listed(cl_device_type type) {
  cl_uint count = 0;
  check(clGetDeviceIDs(Environment::get().remote_platform(), type, 0, nullptr, &count));
  std::vector<cl_device_id> devices(count);
  check(clGetDeviceIDs(Environment::get().remote_platform(), type, count, devices.data(), nullptr));
  return devices;
}

TEST_F(AutomaticDeviceTest, IsTheFirstAndTheOnlyDefaultDevice) {
  const auto all = listed(CL_DEVICE_TYPE_ALL);
  EXPECT_EQ(all.size(), Environment::get().all_devices().size() + 1);
  EXPECT_EQ(all.front(), device_);
  EXPECT_EQ(listed(CL_DEVICE_TYPE_DEFAULT), std::vector<cl_device_id>{device_});
  const auto type = value<cl_device_type>(clGetDeviceInfo, device_, CL_DEVICE_TYPE);
  EXPECT_NE(type & CL_DEVICE_TYPE_DEFAULT, 0u);
  cl_device_type members = 0;
  for (const cl_device_id device : Environment::get().all_devices()) {
    const auto own = value<cl_device_type>(clGetDeviceInfo, device, CL_DEVICE_TYPE);
    EXPECT_EQ(own & CL_DEVICE_TYPE_DEFAULT, 0u);
    members |= own;
  }
  EXPECT_EQ(type, members | CL_DEVICE_TYPE_DEFAULT);
}

TEST_F(AutomaticDeviceTest, IsNamedByTheNumberOfItsMembers) {
  const std::string count = std::to_string(Environment::get().all_devices().size());
  EXPECT_EQ(text(clGetDeviceInfo, device_, CL_DEVICE_NAME), "remotecl automatic device (" + count + " devices)");
}

TEST_F(AutomaticDeviceTest, CannotBePartitioned) {
  EXPECT_EQ(value<cl_uint>(clGetDeviceInfo, device_, CL_DEVICE_PARTITION_MAX_SUB_DEVICES), 0u);
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_uint count = 0;
  EXPECT_EQ(clCreateSubDevices(device_, equally, 0, nullptr, &count), CL_DEVICE_PARTITION_FAILED);
}

TEST_F(AutomaticDeviceTest, HasNoExtensionThatAMemberLacks) {
  const std::string own = " " + text(clGetDeviceInfo, device_, CL_DEVICE_EXTENSIONS) + " ";
  EXPECT_EQ(own.find("cl_khr_command_buffer"), std::string::npos);
  EXPECT_NE(own.find(" cl_khr_byte_addressable_store "), std::string::npos);
}

TEST_F(AutomaticDeviceTest, AContextShowsWhatTheApplicationNamed) {
  EXPECT_EQ(list<cl_device_id>(clGetContextInfo, context_.get(), CL_CONTEXT_DEVICES),
            std::vector<cl_device_id>{device_});
  EXPECT_EQ(value<cl_uint>(clGetContextInfo, context_.get(), CL_CONTEXT_NUM_DEVICES), 1u);
  EXPECT_EQ(list<cl_device_id>(clGetProgramInfo, program_.get(), CL_PROGRAM_DEVICES),
            std::vector<cl_device_id>{device_});
  cl_int error = CL_SUCCESS;
  const cl_device_id member = Environment::get().all_devices().front();
  EXPECT_EQ(clCreateCommandQueue(context_, member, 0, &error), nullptr);
  EXPECT_EQ(error, CL_INVALID_DEVICE);
}

// A part of a device may be gone long before the placements are asked for.
TEST_F(AutomaticDeviceTest, PlacementsNameWholeDevices) {
  const cl_device_id whole = Environment::get().all_devices().front();
  const cl_device_partition_property equally[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0};
  cl_uint count = 0;
  if (clCreateSubDevices(whole, equally, 0, nullptr, &count) != CL_SUCCESS) GTEST_SKIP() << "the device has no parts";
  std::vector<cl_device_id> ids(count);
  check(clCreateSubDevices(whole, equally, count, ids.data(), nullptr));
  {
    const std::vector<Owned<cl_device_id>> parts(ids.begin(), ids.end());
    const Owned<cl_context> context = make_context({device_, ids.front()});
    const Owned<cl_command_queue> queue = make_queue(context, device_);
  }
  const json placements = json::parse(statistics_json())["placements"];
  EXPECT_EQ(placements.size(), Environment::get().all_devices().size());
  for (const json& each : placements) EXPECT_NE(each["device"], "");
}

TEST_F(AutomaticDeviceTest, BinariesOfAllMembersAreOneAndCanBeGivenBack) {
  const auto sizes = list<std::size_t>(clGetProgramInfo, program_.get(), CL_PROGRAM_BINARY_SIZES);
  ASSERT_EQ(sizes.size(), 1u);
  std::vector<unsigned char> binary(sizes[0]);
  unsigned char* target = binary.data();
  check(clGetProgramInfo(program_, CL_PROGRAM_BINARIES, sizeof target, &target, nullptr));
  const auto make = [&](cl_int& error) {
    const unsigned char* data = binary.data();
    const std::size_t size = binary.size();
    cl_int status = CL_SUCCESS;
    Owned<cl_program> made(clCreateProgramWithBinary(context_, 1, &device_, &size, &data, &status, &error));
    return made;
  };
  cl_int error = CL_SUCCESS;
  const Owned<cl_program> again = make(error);
  check(error);
  check(clBuildProgram(again, 0, nullptr, nullptr, nullptr, nullptr));
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> buffer = make_buffer(context_, numbers());
  const Owned<cl_kernel> add = make_kernel(again, "add");
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 1));
  for (int i = 0; i < 3; ++i) check(run(queue, add, kCount));
  EXPECT_EQ(read<int>(queue, buffer, kCount)[0], 3);
  binary[binary.size() / 2] ^= 1;
  make(error);
  EXPECT_EQ(error, CL_INVALID_BINARY);
}

TEST_F(AutomaticDeviceTest, AProgramThatNoMemberBuildsFailsWithItsLog) {
  const Owned<cl_program> program = make_program(context_, "kernel void broken(global int* data) { unknown(); }");
  EXPECT_EQ(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_BUILD_PROGRAM_FAILURE);
  EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, program.get(), device_, CL_PROGRAM_BUILD_STATUS),
            CL_BUILD_ERROR);
  EXPECT_NE(text(clGetProgramBuildInfo, program.get(), device_, CL_PROGRAM_BUILD_LOG), "");
}

TEST_F(AutomaticDeviceTest, AnUnknownPolicyIsNamedInTheError) {
  char* error = nullptr;
  const auto turn_on = library_function<decltype(remotecl_auto)>("remotecl_auto");
  EXPECT_EQ(turn_on("fastest", &error), nullptr);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error).find("fastest"), std::string::npos);
  EXPECT_NE(std::string(error).find("earliest-finish"), std::string::npos);
  library_function<decltype(remotecl_free)>("remotecl_free")(error);
}

class EarliestFinishTest : public AutomaticDeviceTest {
 protected:
  EarliestFinishTest() : AutomaticDeviceTest("earliest-finish") {}
};

TEST_F(EarliestFinishTest, LearnsHowLongKernelsRun) {
  const Owned<cl_command_queue> queue = make_queue(context_, device_);
  const Owned<cl_mem> buffer = make_buffer(context_, numbers());
  const Owned<cl_kernel> spin = make_kernel(program_, "spin");
  check(set_arg(spin, 0, buffer));
  check(set_arg(spin, 1, 2000));
  json why;
  for (int i = 0; i < 20; ++i) {
    Owned<cl_event> event;
    check(run(queue, spin, kCount, {}, event.out()));
    check(clFinish(queue));
    why = explain(event);
  }
  EXPECT_TRUE(why["measured"].get<bool>()) << why;
  EXPECT_GT(why["runs_s"].get<double>(), 0);
}

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) {
  ::setenv("REMOTECL_LOG", "off", 0);  // a server is lost on purpose
  ::setenv("REMOTECL_RECONNECT", "0", 0);
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new remotecl::testing::Environment(3));
  return RUN_ALL_TESTS();
}
