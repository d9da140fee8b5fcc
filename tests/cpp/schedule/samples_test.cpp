#include "runtime/client/placement/samples.h"

#include <gtest/gtest.h>

namespace remotecl {
namespace {

int count_of(Samples& samples, int runs, schedule::KernelId kernel, schedule::DeviceId device, double size) {
  int count = 0;
  for (int i = 0; i < runs; ++i) count += samples.next(kernel, device, size) ? 1 : 0;
  return count;
}

TEST(SamplesTest, TakesTheFirstRunsAndThenFew) {
  Samples samples;
  EXPECT_EQ(count_of(samples, 3, 0, 0, 100), 3);
  EXPECT_EQ(count_of(samples, 61, 0, 0, 100), 0);
  EXPECT_EQ(count_of(samples, 640, 0, 0, 100), 10);
}

TEST(SamplesTest, CountsKernelsDevicesAndSizeClassesByThemselves) {
  Samples samples;
  for (const schedule::KernelId kernel : {0u, 7u}) {
    for (const schedule::DeviceId device : {0u, 65u}) {
      for (const double size : {1.0, 1e3, 1e6, 1e15}) EXPECT_EQ(count_of(samples, 10, kernel, device, size), 3);
    }
  }
}

TEST(SamplesTest, SizesOfOneClassShareTheirRuns) {
  Samples samples;
  EXPECT_EQ(count_of(samples, 3, 0, 0, 1024), 3);
  EXPECT_EQ(count_of(samples, 3, 0, 0, 1500), 0);
}

TEST(SamplesTest, RunsAfterASurpriseAreMeasured) {
  Samples samples;
  EXPECT_EQ(count_of(samples, 40, 0, 0, 100), 3);
  samples.surprised(0, 0, 100);
  EXPECT_EQ(count_of(samples, 20, 0, 0, 100), 3);
  EXPECT_EQ(count_of(samples, 10, 0, 1, 100), 3) << "of a device that has had none";
}

}  // namespace
}  // namespace remotecl
