// Sorting, a scan, a reduction and a transformation by Boost.Compute.
#include <algorithm>
#include <boost/compute.hpp>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <vector>

namespace compute = boost::compute;

int main() {
  const compute::device device = compute::system::default_device();
  const compute::context context(device);
  compute::command_queue queue(context, device);
  std::vector<int> host(100000);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>((i * 7919) % 100003);
  double seconds = 0;
  for (int round = 0; round < 2; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    compute::vector<int> values(host.begin(), host.end(), queue);
    compute::sort(values.begin(), values.end(), queue);
    compute::vector<int> sums(host.size(), context);
    compute::inclusive_scan(values.begin(), values.end(), sums.begin(), queue);
    int total = 0;
    compute::reduce(values.begin(), values.end(), &total, compute::plus<int>(), queue);
    compute::vector<float> roots(host.size(), context);
    compute::copy(values.begin(), values.end(), roots.begin(), queue);
    compute::transform(roots.begin(), roots.end(), roots.begin(), compute::sqrt<float>(), queue);
    std::vector<int> sorted(host.size());
    compute::copy(values.begin(), values.end(), sorted.begin(), queue);
    std::vector<int> scanned(host.size());
    compute::copy(sums.begin(), sums.end(), scanned.begin(), queue);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::vector<int> expected = host;
    std::sort(expected.begin(), expected.end());
    const bool is_sorted = sorted == expected;
    std::partial_sum(expected.begin(), expected.end(), expected.begin());
    if (round > 0) std::printf("%d %d %d\n", is_sorted, scanned == expected, total == expected.back());
  }
  std::printf("seconds: %f\n", seconds);
}
