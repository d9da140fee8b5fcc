// The automatic device over unlike devices: two daemons, each with a custom device, a GPU, and an accelerator that has
// no compiler. It stands for the last two of each.
#include <nlohmann/json.hpp>
#include <set>

#include "extras/scheduling/icd/automatic_device_fixture.h"
#include "icd/fake_driver.h"

namespace remotecl::testing {
namespace {

using nlohmann::json;

class AutomaticMembersTest : public FakeDriverTest {
 protected:
  const cl_device_id device_ = automatic_device("round-robin");
  const Owned<cl_context> context_ = make_context({device_});
  const Owned<cl_command_queue> queue_ = make_queue(context_, device_);
  const Owned<cl_mem> buffer_ = make_buffer(context_, kCount * sizeof(int));

  // The names of the devices that run some kernels.
  std::set<std::string> devices_of_runs(cl_kernel kernel) {
    std::set<std::string> names;
    for (int i = 0; i < 8; ++i) {
      Owned<cl_event> event;
      check(run(queue_, kernel, kCount, {}, event.out()));
      char* text = library_function<decltype(remotecl_explain_event)>("remotecl_explain_event")(event);
      const json why = json::parse(text);
      library_function<decltype(remotecl_free)>("remotecl_free")(text);
      names.insert(why["device"]["server"].get<std::string>() + "/" + why["device"]["name"].get<std::string>());
    }
    return names;
  }
};

TEST_F(AutomaticMembersTest, StandsForAllDevicesButCustomOnes) {
  EXPECT_EQ(text(clGetDeviceInfo, device_, CL_DEVICE_NAME), "remotecl automatic device (4 devices)");
  EXPECT_EQ(value<cl_device_type>(clGetDeviceInfo, device_, CL_DEVICE_TYPE),
            cl_device_type{CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_DEFAULT});
  EXPECT_EQ(value<cl_bool>(clGetDeviceInfo, device_, CL_DEVICE_COMPILER_AVAILABLE), cl_bool{CL_TRUE});
}

TEST_F(AutomaticMembersTest, KernelsRunOnlyWhereTheirProgramWasBuilt) {
  const Owned<cl_program> program = build(context_, "fill_mv");
  EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, program.get(), device_, CL_PROGRAM_BUILD_STATUS),
            CL_BUILD_SUCCESS);
  const Owned<cl_kernel> fill = make_kernel(program, "fill_mv");
  set_arguments(fill, buffer_, 7);
  EXPECT_EQ(devices_of_runs(fill).size(), 2u);  // the GPUs
  EXPECT_EQ(read<int>(queue_, buffer_, kCount), std::vector<int>(kCount, 7));
}

// Each member has its own.
TEST_F(AutomaticMembersTest, KernelsThatShareAVariableRunOnOneMember) {
  const Owned<cl_program> program = build(context_, "fill_mv add_mv variable");
  const Owned<cl_kernel> fill = make_kernel(program, "fill_mv"), add = make_kernel(program, "add_mv");
  set_arguments(fill, buffer_, 7);
  set_arguments(add, buffer_, 1);
  std::set<std::string> names = devices_of_runs(fill);
  names.merge(devices_of_runs(add));
  EXPECT_EQ(names.size(), 1u) << json(names);
  EXPECT_EQ(read<int>(queue_, buffer_, kCount), std::vector<int>(kCount, 15));
}

TEST_F(AutomaticMembersTest, AProgramThatNobodyBuildsFails) {
  const Owned<cl_program> program = make_program(context_, "fill_mv error");
  EXPECT_NE(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr), CL_SUCCESS);
  EXPECT_EQ(value<cl_build_status>(clGetProgramBuildInfo, program.get(), device_, CL_PROGRAM_BUILD_STATUS),
            CL_BUILD_ERROR);
}

TEST_F(AutomaticMembersTest, AFailedKernelFailsItsEventAndNotTheNextCommand) {
  const Owned<cl_kernel> fill = make_kernel(build(context_, "fill_mv"), "fill_mv");
  set_arguments(fill, buffer_, 3);
  command_driver("fail=kernel:1:-9999");
  std::vector<Owned<cl_event>> events(4);
  for (auto& event : events) check(run(queue_, fill, kCount, {}, event.out()));
  std::vector<cl_int> statuses;
  for (const auto& event : events) {
    clWaitForEvents(1, event.pointer());
    statuses.push_back(status(event));
  }
  // The first one of each GPU.
  EXPECT_EQ(statuses, (std::vector<cl_int>{-9999, -9999, CL_COMPLETE, CL_COMPLETE}));
}

// A program that accelerators have as a binary, which nobody compiles, beside GPUs.
class PrebuiltTest : public FakeDriverTest, public ::testing::WithParamInterface<const char*> {
 protected:
  const cl_device_id device_ = automatic_device(GetParam());
  const std::vector<cl_device_id> gpus_ = members(CL_DEVICE_TYPE_GPU);
  const std::vector<cl_device_id> accelerators_ = members(CL_DEVICE_TYPE_ACCELERATOR);
  const Owned<cl_context> context_ = make_context({device_, gpus_[0], gpus_[1], accelerators_[0], accelerators_[1]});
  const Owned<cl_command_queue> queue_ = make_queue(context_, device_);
  const Owned<cl_mem> buffer_ = make_buffer(context_, kCount * sizeof(int));

  // The automatic device is of all of its members' types.
  std::vector<cl_device_id> members(cl_device_type type) const {
    std::vector<cl_device_id> found = devices(type);
    std::erase(found, device_);
    return found;
  }
  Owned<cl_program> prebuilt(const std::vector<cl_device_id>& devices) const {
    const std::string binary = "BINARY:add_mv";
    const std::vector<std::size_t> sizes(devices.size(), binary.size());
    std::vector<const unsigned char*> all(devices.size(), reinterpret_cast<const unsigned char*>(binary.data()));
    cl_int error = CL_SUCCESS;
    Owned<cl_program> program(clCreateProgramWithBinary(context_, static_cast<cl_uint>(devices.size()), devices.data(),
                                                        sizes.data(), all.data(), nullptr, &error));
    check(error);
    check(clBuildProgram(program, 0, nullptr, nullptr, nullptr, nullptr));
    return program;
  }
  // Of the devices that run the program's kernel, after each of which the queue is empty.
  std::set<std::string> names_of_runs(cl_program program) {
    const int zero = 0;
    check(clEnqueueFillBuffer(queue_, buffer_, &zero, sizeof zero, 0, kCount * sizeof(int), 0, nullptr, nullptr));
    const Owned<cl_kernel> add = make_kernel(program, "add_mv");
    set_arguments(add, buffer_, 1);
    std::set<std::string> names;
    for (int i = 0; i < 8; ++i) {
      Owned<cl_event> event;
      check(run(queue_, add, kCount, {}, event.out()));
      check(clFinish(queue_));
      names.insert(explain(event)["device"]["name"].get<std::string>());
    }
    EXPECT_EQ(read<int>(queue_, buffer_, kCount), std::vector<int>(kCount, 8));
    return names;
  }
};

TEST_P(PrebuiltTest, WhatOnlyAcceleratorsHaveRunsThere) {
  EXPECT_EQ(names_of_runs(prebuilt(accelerators_)), std::set<std::string>{"fake accelerator 0"});
}

TEST_P(PrebuiltTest, WhatOnlyGpusBuildRunsThere) {
  const Owned<cl_program> program = make_program(context_, "add_mv");
  check(clBuildProgram(program, static_cast<cl_uint>(gpus_.size()), gpus_.data(), nullptr, nullptr, nullptr));
  EXPECT_EQ(names_of_runs(program), std::set<std::string>{"fake gpu 0"});
}

TEST_P(PrebuiltTest, WhatBothHaveRunsOnEither) {
  std::vector<cl_device_id> all = gpus_;
  all.insert(all.end(), accelerators_.begin(), accelerators_.end());
  const std::set<std::string> names = names_of_runs(prebuilt(all));
  EXPECT_GE(names.size(), GetParam() == std::string("round-robin") ? 2u : 1u);
}

INSTANTIATE_TEST_SUITE_P(EachPolicy, PrebuiltTest,
                         ::testing::Values("static", "round-robin", "least-loaded", "earliest-finish"),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace remotecl::testing

int main(int argc, char** argv) { return remotecl::testing::run_with_two_fake_daemons(argc, argv); }
