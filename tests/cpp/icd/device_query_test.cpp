// What a device says of itself, compared with what its driver says.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>

#include "icd/device_queries.h"
#include "icd/fixture.h"

namespace remotecl::testing {
namespace {

// Answers that are this runtime's, and not the driver's.
constexpr cl_device_info kOwnAnswers[] = {
    CL_DEVICE_PLATFORM,
    CL_DRIVER_VERSION,
    CL_DEVICE_EXECUTION_CAPABILITIES,
    CL_DEVICE_HOST_UNIFIED_MEMORY,
    CL_DEVICE_SVM_CAPABILITIES,
    CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES,
    CL_DEVICE_ATOMIC_FENCE_CAPABILITIES,
    CL_DEVICE_EXTENSIONS,
    CL_DEVICE_EXTENSIONS_WITH_VERSION,
    CL_DEVICE_OPENCL_C_FEATURES,
    CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED,
    CL_DEVICE_PIPE_SUPPORT,
    CL_DEVICE_MAX_PIPE_ARGS,
    CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS,
    CL_DEVICE_PIPE_MAX_PACKET_SIZE,
    CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES,
    CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE,
    CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE,
    CL_DEVICE_MAX_ON_DEVICE_QUEUES,
    CL_DEVICE_MAX_ON_DEVICE_EVENTS,
    CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES,
    CL_DEVICE_PREFERRED_INTEROP_USER_SYNC,
    CL_DEVICE_LUID_VALID_KHR,
    CL_DEVICE_INTEGRATED_MEMORY_NV,
    CL_DEVICE_PROFILING_TIMER_OFFSET_AMD,
    CL_DEVICE_TOPOLOGY_AMD,
    CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR,
    CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
    CL_DEVICE_MAX_CLOCK_FREQUENCY,  // as it happens to be
};
// Where a device sits in its own machine, which programs would look up on theirs: refused.
constexpr cl_device_info kPciInfo[] = {
    0x4008,  // CL_DEVICE_PCI_BUS_ID_NV
    0x4009,  // CL_DEVICE_PCI_SLOT_ID_NV
    0x400A,  // CL_DEVICE_PCI_DOMAIN_ID_NV
};
// Extensions that need nothing of the driver.
constexpr std::string_view kOwnExtensions[] = {"cl_khr_command_buffer"};

template <class T, std::size_t N, class Value>
bool is_in(const T (&list)[N], const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

class DeviceQueryTest : public RemoteTest {
 protected:
  void SetUp() override {
    if (native_ == nullptr) GTEST_SKIP() << "no driver to compare with";
  }
  static std::set<std::string> extensions(cl_device_id device) {
    std::istringstream names(text(clGetDeviceInfo, device, CL_DEVICE_EXTENSIONS));
    return {std::istream_iterator<std::string>(names), {}};
  }
  static cl_int ask(cl_device_id device, cl_device_info name) {
    std::size_t size = 0;
    return clGetDeviceInfo(device, name, 0, nullptr, &size);
  }
  static bool truth(cl_device_id device, cl_device_info name) {
    return value<cl_bool>(clGetDeviceInfo, device, name) != CL_FALSE;
  }

  const cl_device_id native_ = Environment::get().native_device();
  const std::set<std::string> advertised_ = extensions(device());
};

TEST_F(DeviceQueryTest, EachOfOpenCLAndOfAnAdvertisedExtensionIsAnswered) {
  for (const DeviceQuery& query : kDeviceQueries) {
    if (query.extension != nullptr && advertised_.count(query.extension) == 0) continue;
    const bool is_own = query.extension != nullptr && is_in(kOwnExtensions, query.extension);
    // A driver of an older OpenCL does not know all of them.
    const cl_int expected = is_own ? CL_SUCCESS : ask(native_, query.name);
    EXPECT_TRUE(expected == CL_SUCCESS || query.extension == nullptr) << query.text;
    EXPECT_EQ(ask(device(), query.name), expected) << query.text;
    if (expected != CL_SUCCESS || is_in(kOwnAnswers, query.name)) continue;
    EXPECT_EQ(list<char>(clGetDeviceInfo, device(), query.name), list<char>(clGetDeviceInfo, native_, query.name))
        << query.text;
  }
}

TEST_F(DeviceQueryTest, WhatTheDriverAnswersIsRefusedOnlyWithItsExtension) {
  for (cl_device_info name = 0; name <= 0xFFFF; ++name) {
    if (ask(native_, name) != CL_SUCCESS || ask(device(), name) == CL_SUCCESS || is_in(kPciInfo, name)) continue;
    const auto is_of_missing = [&](const DeviceQuery& query) {
      return query.name == name && query.extension != nullptr && advertised_.count(query.extension) == 0;
    };
    EXPECT_TRUE(std::any_of(std::begin(kDeviceQueries), std::end(kDeviceQueries), is_of_missing)) << std::hex << name;
  }
}

TEST_F(DeviceQueryTest, WhatANetworkMakesUntrueIsNotSaid) {
  EXPECT_FALSE(truth(device(), CL_DEVICE_HOST_UNIFIED_MEMORY));
  EXPECT_TRUE(truth(device(), CL_DEVICE_PREFERRED_INTEROP_USER_SYNC));
  EXPECT_EQ(ask(device(), CL_DEVICE_PCI_BUS_INFO_KHR), CL_INVALID_VALUE);
  for (const cl_device_info name : kPciInfo) EXPECT_EQ(ask(device(), name), CL_INVALID_VALUE) << std::hex << name;
  for (const cl_device_info name : {CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES, CL_DEVICE_ATOMIC_FENCE_CAPABILITIES}) {
    if (ask(native_, name) != CL_SUCCESS) continue;
    const auto here = value<cl_device_atomic_capabilities>(clGetDeviceInfo, device(), name);
    const auto there = value<cl_device_atomic_capabilities>(clGetDeviceInfo, native_, name);
    EXPECT_EQ(here, there & ~cl_device_atomic_capabilities{CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES});
  }
  for (const auto& feature : list<cl_name_version>(clGetDeviceInfo, device(), CL_DEVICE_OPENCL_C_FEATURES)) {
    EXPECT_STRNE(feature.name, "__opencl_c_atomic_scope_all_devices");
  }
}

// Programs keep binaries of this platform under a device's name and driver version.
TEST_F(DeviceQueryTest, TheDriverVersionIsNotTheNativeOne) {
  EXPECT_EQ(text(clGetDeviceInfo, device(), CL_DRIVER_VERSION),
            text(clGetDeviceInfo, native_, CL_DRIVER_VERSION) + " remotecl " REMOTECL_VERSION);
}

// A program that keeps CL_DEVICE_TYPE_ALL in an int passes all bits.
TEST_F(DeviceQueryTest, AllBitsOfADeviceTypeAreAll) {
  cl_uint count = 0, expected = 0;
  check(clGetDeviceIDs(Environment::get().remote_platform(), CL_DEVICE_TYPE_ALL, 0, nullptr, &expected));
  check(clGetDeviceIDs(Environment::get().remote_platform(), ~cl_device_type{0}, 0, nullptr, &count));
  EXPECT_EQ(count, expected);
}

// Their objects are of the machine that the device is in.
TEST_F(DeviceQueryTest, NoExtensionSharesObjectsWithOtherInterfaces) {
  for (const std::string& name : advertised_) {
    for (const char* of : {"_gl_", "_egl_", "_d3d1", "_dx9_", "_va_api_", "external_", "_import_memory", "_pci_"}) {
      EXPECT_EQ(name.find(of), std::string::npos) << name;
    }
  }
}

}  // namespace
}  // namespace remotecl::testing
