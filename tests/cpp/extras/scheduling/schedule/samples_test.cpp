#include "extras/scheduling/schedule/samples.h"

#include <gtest/gtest.h>

namespace remotecl::schedule {
namespace {

int count_of(Samples& samples, int runs, KernelId kernel, DeviceId device, double size) {
  int count = 0;
  for (int i = 0; i < runs; ++i) count += samples.next(kernel, device, size) ? 1 : 0;
  return count;
}

TEST(SamplesTest, TakesTheFirstRunsAndThenFew) {
  Samples samples;
  samples.reserve(8, 66);
  EXPECT_EQ(count_of(samples, 3, 0, 0, 100), 3);
  EXPECT_EQ(count_of(samples, 61, 0, 0, 100), 0);
  EXPECT_EQ(count_of(samples, 640, 0, 0, 100), 10);
}

TEST(SamplesTest, CountsKernelsDevicesAndSizeClassesByThemselves) {
  Samples samples;
  samples.reserve(8, 66);
  for (const KernelId kernel : {0u, 7u}) {
    for (const DeviceId device : {0u, 65u}) {
      for (const double size : {1.0, 1e3, 1e6, 1e15}) EXPECT_EQ(count_of(samples, 10, kernel, device, size), 3);
    }
  }
}

TEST(SamplesTest, SizesOfOneClassShareTheirRuns) {
  Samples samples;
  samples.reserve(8, 66);
  EXPECT_EQ(count_of(samples, 3, 0, 0, 1024), 3);
  EXPECT_EQ(count_of(samples, 3, 0, 0, 1500), 0);
}

TEST(SamplesTest, RunsAfterASurpriseAreMeasured) {
  Samples samples;
  samples.reserve(8, 66);
  EXPECT_EQ(count_of(samples, 40, 0, 0, 100), 3);
  samples.surprised(0, 0, 100);
  EXPECT_EQ(count_of(samples, 20, 0, 0, 100), 3);
  EXPECT_EQ(count_of(samples, 10, 0, 1, 100), 3) << "of a device that has had none";
}

}  // namespace
}  // namespace remotecl::schedule
