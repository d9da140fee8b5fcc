// Parts of devices, compared with the native driver where it can partition its device.
#include <thread>

#include "icd/statistics.h"
#include "icd/wrong_calls.h"

namespace remotecl::testing {
namespace {

using Property = cl_device_partition_property;
using Parts = std::vector<Owned<cl_device_id>>;

cl_uint units(cl_device_id device) { return value<cl_uint>(clGetDeviceInfo, device, CL_DEVICE_MAX_COMPUTE_UNITS); }
cl_uint references(cl_device_id device) { return value<cl_uint>(clGetDeviceInfo, device, CL_DEVICE_REFERENCE_COUNT); }

Parts partition(cl_device_id device, const std::vector<Property>& properties) {
  cl_uint count = 0;
  check(clCreateSubDevices(device, properties.data(), 0, nullptr, &count));
  std::vector<cl_device_id> ids(count);
  check(clCreateSubDevices(device, properties.data(), count, ids.data(), nullptr));
  Parts parts;
  for (const cl_device_id id : ids) parts.emplace_back(id);
  return parts;
}

class SubDeviceTest : public RemoteTest {
 protected:
  void SetUp() override {
    if (units(device()) < 2) GTEST_SKIP() << "a device of one compute unit has no parts";
    const auto supported = list<Property>(clGetDeviceInfo, device(), CL_DEVICE_PARTITION_PROPERTIES);
    if (supported.empty() || supported[0] != CL_DEVICE_PARTITION_EQUALLY)
      GTEST_SKIP() << "the driver partitions nothing";
  }
  Parts halves(std::size_t of = 0) {
    return partition(device(of), {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0});
  }
};

TEST_F(SubDeviceTest, PartsAreThoseOfTheNativeDriver) {
  const cl_device_id native = Environment::get().native_device();
  if (native == nullptr) GTEST_SKIP() << "no driver to compare with";
  const std::vector<Property> partitions[] = {
      {CL_DEVICE_PARTITION_EQUALLY, 1, 0},
      {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0},
      {CL_DEVICE_PARTITION_BY_COUNTS, 2, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0}};
  for (const auto& properties : partitions) {
    const Parts expected = partition(native, properties), parts = partition(device(), properties);
    ASSERT_EQ(parts.size(), expected.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      for (const cl_device_info name :
           {CL_DEVICE_MAX_COMPUTE_UNITS, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, CL_DEVICE_PARTITION_PROPERTIES,
            CL_DEVICE_PARTITION_TYPE, CL_DEVICE_PARTITION_AFFINITY_DOMAIN, CL_DEVICE_NAME, CL_DEVICE_TYPE,
            CL_DEVICE_REFERENCE_COUNT}) {
        EXPECT_EQ(list<char>(clGetDeviceInfo, parts[i].get(), name),
                  list<char>(clGetDeviceInfo, expected[i].get(), name))
            << "query " << name;
      }
      EXPECT_EQ(value<cl_device_id>(clGetDeviceInfo, parts[i].get(), CL_DEVICE_PARENT_DEVICE), device());
    }
  }
}

TEST_F(SubDeviceTest, ReferencesAreCounted) {
  Parts parts = halves();
  EXPECT_EQ(references(parts[0]), 1u);
  check(clRetainDevice(parts[0]));
  EXPECT_EQ(references(parts[0]), 2u);
  check(clReleaseDevice(parts[0]));
  EXPECT_EQ(references(parts[0]), 1u);
  check(clRetainDevice(device()));
  EXPECT_EQ(references(device()), 1u);
  EXPECT_EQ(value<cl_device_id>(clGetDeviceInfo, device(), CL_DEVICE_PARENT_DEVICE), nullptr);
}

TEST_F(SubDeviceTest, ContextKeepsItsDevices) {
  Parts parts = halves();
  const cl_device_id id = parts[0];
  const Owned<cl_context> context = make_context({id});
  parts.clear();
  EXPECT_EQ(list<cl_device_id>(clGetContextInfo, context.get(), CL_CONTEXT_DEVICES), std::vector<cl_device_id>{id});
  const Owned<cl_command_queue> queue = make_queue(context, id);
  EXPECT_EQ(value<cl_device_id>(clGetCommandQueueInfo, queue.get(), CL_QUEUE_DEVICE), id);
  const Owned<cl_program> program = build(context, kSource);
  const Owned<cl_kernel> add = make_kernel(program, "add");
  const Owned<cl_mem> buffer = make_buffer(context, numbers(64));
  check(set_arg(add, 0, buffer));
  check(set_arg(add, 1, 100));
  check(run(queue, add, 64));
  EXPECT_EQ(read<int>(queue, buffer, 64), numbers(64, 100));
}

TEST_F(SubDeviceTest, DataPassesBetweenPartsWholesAndServers) {
  const Parts near = halves(0), far = halves(1);
  const std::vector<cl_device_id> devices{near[0], far[1], near[1], device(0), far[0], device(1)};
  const Owned<cl_context> context = make_context(devices);
  const Owned<cl_program> program = build(context, kSource);
  const Owned<cl_kernel> add = make_kernel(program, "add");
  for (const std::size_t count : {std::size_t{64}, std::size_t{1} << 18}) {
    const Owned<cl_mem> buffer = make_buffer(context, numbers(count));
    check(set_arg(add, 0, buffer));
    check(set_arg(add, 1, 1));
    std::vector<Owned<cl_command_queue>> queues;
    Owned<cl_event> last;
    int steps = 0;
    for (int round = 0; round < 3; ++round) {
      for (const cl_device_id device : devices) {
        queues.push_back(make_queue(context, device));
        Owned<cl_event> done;
        const std::vector<cl_event> wait = last == nullptr ? std::vector<cl_event>{} : std::vector<cl_event>{last};
        check(run(queues.back(), add, count, wait, done.out()));
        check(clFlush(queues.back()));
        last = std::move(done);
        ++steps;
      }
    }
    EXPECT_TRUE(read<int>(queues.back(), buffer, count) == numbers(count, steps));
  }
}

TEST_F(SubDeviceTest, PartsHaveParts) {
  const std::vector<Property> all{CL_DEVICE_PARTITION_BY_COUNTS, 2, CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
  Parts outer = partition(device(), all);
  const Parts inner = partition(outer[0], {CL_DEVICE_PARTITION_EQUALLY, 1, 0});
  ASSERT_EQ(inner.size(), 2u);
  const cl_device_id parent = outer[0];
  EXPECT_EQ(value<cl_device_id>(clGetDeviceInfo, inner[1].get(), CL_DEVICE_PARENT_DEVICE), parent);
  outer.clear();
  // Its parts keep it.
  EXPECT_EQ(units(parent), 2u);
  EXPECT_EQ(units(inner[1]), 1u);
  const Owned<cl_context> context = make_context({inner[0], inner[1]});
  const Owned<cl_command_queue> queue = make_queue(context, inner[1]);
  const Owned<cl_mem> buffer = make_buffer(context, numbers(16));
  EXPECT_EQ(read<int>(queue, buffer, 16), numbers(16));
}

TEST_F(SubDeviceTest, BuildForTheWholeIsABuildForItsParts) {
  const Parts parts = halves();
  const cl_device_id whole = device();
  const Owned<cl_context> context = make_context({whole, parts[0], parts[1], device(1)});
  const Owned<cl_program> program = make_program(context, kSource);
  check(clBuildProgram(program, 1, &whole, nullptr, nullptr, nullptr));
  const auto built = [&](cl_device_id on) {
    return value<cl_build_status>(clGetProgramBuildInfo, program.get(), on, CL_PROGRAM_BUILD_STATUS);
  };
  EXPECT_EQ(built(parts[0]), CL_BUILD_SUCCESS);
  EXPECT_EQ(built(parts[1]), CL_BUILD_SUCCESS);
  EXPECT_EQ(built(device(1)), CL_BUILD_NONE);
}

TEST_F(SubDeviceTest, ManyComeAndGo) {
  for (int round = 0; round < 100; ++round) {
    const Parts parts = halves();
    ASSERT_EQ(units(parts[1]), 1u);
    if (round % 10 != 0) continue;
    const Owned<cl_context> context = make_context({parts[0], parts[1]});
    const Owned<cl_command_queue> queue = make_queue(context, parts[round / 10 % 2]);
    const Owned<cl_mem> buffer = make_buffer(context, numbers(16, round));
    ASSERT_EQ(read<int>(queue, buffer, 16), numbers(16, round));
  }
}

// Parts often get the address of one that is gone.
TEST_F(SubDeviceTest, ANewPartIsAskedForItsImageFormats) {
  for (int round = 0; round < 50; ++round) {
    const Parts parts = halves();
    const Owned<cl_context> context = make_context({parts[0]});
    const std::uint64_t before = statistic("misses");
    cl_uint count = 0;
    check(clGetSupportedImageFormats(context, CL_MEM_READ_WRITE, CL_MEM_OBJECT_IMAGE2D, 0, nullptr, &count));
    ASSERT_EQ(statistic("misses"), before + 1) << "round " << round;
  }
}

TEST_F(SubDeviceTest, SeveralThreadsPartition) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < 20; ++round) {
        const Parts parts = halves();
        EXPECT_EQ(parts.size(), 2u);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

cl_int partition_error(cl_device_id device, const std::vector<Property>& properties, cl_uint room = 64) {
  std::vector<cl_device_id> ids(64);
  cl_uint count = 0;
  const cl_int error = clCreateSubDevices(device, properties.data(), room, ids.data(), &count);
  for (cl_uint i = 0; error == CL_SUCCESS && i < count; ++i) clReleaseDevice(ids[i]);
  return error;
}

const WrongCall kWrongPartitions[] = {
    {"NoDevice", CL_INVALID_DEVICE,
     [](World&) {
       return partition_error(nullptr, {CL_DEVICE_PARTITION_EQUALLY, 1, 0});
     }},
    {"NoProperties", CL_INVALID_VALUE,
     [](World& w) { return clCreateSubDevices(w.device, nullptr, 0, nullptr, nullptr); }},
    {"UnknownProperty", CL_INVALID_VALUE,
     [](World& w) {
       return partition_error(w.device, {0x4711, 1, 0});
     }},
    {"UnknownAffinityDomain", CL_INVALID_VALUE,
     [](World& w) {
       return partition_error(w.device, {CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, 0, 0});
     }},
    {"TooManyEqualUnits", CL_DEVICE_PARTITION_FAILED,
     [](World& w) {
       return partition_error(w.device, {CL_DEVICE_PARTITION_EQUALLY, 100'000, 0});
     }},
    {"TooManyUnits", CL_INVALID_DEVICE_PARTITION_COUNT,
     [](World& w) {
       return partition_error(w.device, {CL_DEVICE_PARTITION_BY_COUNTS, 100'000, 0, 0});
     }},
    {"NoRoom", CL_INVALID_VALUE,
     [](World& w) {
       return partition_error(w.device, {CL_DEVICE_PARTITION_EQUALLY, 1, 0}, 0);
     }},
    {"TooLittleRoom", CL_INVALID_VALUE,
     [](World& w) {
       return partition_error(w.device, {CL_DEVICE_PARTITION_EQUALLY, 1, 0}, 1);
     }},
    {"RetainNothing", CL_INVALID_DEVICE, [](World&) { return clRetainDevice(nullptr); }},
    {"ReleaseNothing", CL_INVALID_DEVICE, [](World&) { return clReleaseDevice(nullptr); }},
};

class WrongPartitionTest : public ::testing::TestWithParam<WrongCall> {};

// What is supported and how far is the native driver's to say: the answers are the same.
TEST_P(WrongPartitionTest, GivesTheNativeError) {
  if (Environment::get().native_device() == nullptr) GTEST_SKIP() << "no driver to compare with";
  EXPECT_EQ(GetParam().call(World::remote()), GetParam().call(World::native()));
  EXPECT_LT(GetParam().call(World::remote()), CL_SUCCESS);
}

INSTANTIATE_TEST_SUITE_P(Partitions, WrongPartitionTest, ::testing::ValuesIn(kWrongPartitions), wrong_call_name);

}  // namespace
}  // namespace remotecl::testing
