#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "matrix_product.h"
#include "measure.h"

namespace remotecl::bench {
namespace {

constexpr size_t kSizeOnCpus = 512;
constexpr size_t kSizeOnOthers = 8192;

struct MatrixOptions {
  std::string platform = "remotecl";
  std::vector<size_t> devices;
  size_t size = 0;
  size_t count = 5;
  size_t repetitions = 5;
  std::string json_path;
};

// Medians in seconds.
struct Times {
  double single = 0;
  double distribution = 0;
  double compute = 0;
  double gather = 0;
  double whole = 0;
};

std::optional<int> parse(int argc, char** argv, MatrixOptions& options) {
  CLI::App app{
      "Products of square float32 matrices on one device and on all devices of a platform, the rows divided.\n"
      "Plain OpenCL: runs on a native driver and over remotecl (REMOTECL_SERVERS) alike. Results are checked.",
      "remotecl-matrix-bench"};
  app.add_option("--platform", options.platform, "Platform, by a part of its name")->capture_default_str();
  app.add_option("--devices", options.devices, "Indices of the devices to use, the first one has the inputs; all")
      ->delimiter(',')
      ->type_name("INDEX,...");
  app.add_option("--size", options.size, "Rows and columns; 512 with CPUs, else 8192");
  app.add_option("--count", options.count, "Products in one measurement")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--repetitions", options.repetitions, "Measurements, of which medians are printed")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--json", options.json_path, "Also write the results to this file")->type_name("FILE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  return std::nullopt;
}

cl_platform_id find_platform(const std::string& part) {
  for (cl_platform_id platform : all_platforms()) {
    if (platform_name(platform).find(part) != std::string::npos) return platform;
  }
  throw std::invalid_argument("no OpenCL platform has \"" + part + "\" in its name");
}

std::vector<cl_device_id> choose_devices(cl_platform_id platform, const std::vector<size_t>& indices) {
  const std::vector<cl_device_id> all = all_devices(platform);
  if (all.empty()) throw std::invalid_argument("the platform has no device");
  if (indices.empty()) return all;
  std::vector<cl_device_id> chosen;
  for (const size_t index : indices) {
    if (index >= all.size()) throw std::invalid_argument("there is no device " + std::to_string(index));
    chosen.push_back(all[index]);
  }
  return chosen;
}

size_t default_size(const std::vector<cl_device_id>& devices) {
  for (cl_device_id device : devices) {
    if ((device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0) return kSizeOnCpus;
  }
  return kSizeOnOthers;
}

// One and all devices take turns, so that a drift of the machine hits both. The first turn warms up.
Times measure(MatrixProduct& one, MatrixProduct& all, const MatrixOptions& options) {
  std::vector<double> single, distribution, compute, gather, whole;
  for (size_t turn = 0; turn <= options.repetitions; ++turn) {
    one.renew_inputs();
    single.push_back(one.compute(options.count));
    one.verify();
    all.renew_inputs();
    distribution.push_back(all.distribute());
    compute.push_back(all.compute(options.count));
    gather.push_back(all.gather());
    all.verify();
    all.renew_inputs();
    all.distribute();
    whole.push_back(all.whole(options.count));
    all.verify();
    if (turn > 0) continue;
    for (std::vector<double>* times : {&single, &distribution, &compute, &gather, &whole}) times->clear();
  }
  return {summarize(single).median, summarize(distribution).median, summarize(compute).median, summarize(gather).median,
          summarize(whole).median};
}

struct Report {
  const MatrixOptions& options;
  std::string platform;
  std::vector<std::string> devices;
  Times times;

  double tera_flops(double seconds) const {
    const auto n = static_cast<double>(options.size);
    return 2 * n * n * n * static_cast<double>(options.count) / seconds * 1e-12;
  }
  double matrix_bytes() const { return static_cast<double>(options.size * options.size * sizeof(float)); }
  // Into the other devices, and from them.
  double distribution_bytes() const { return 2 * matrix_bytes() * static_cast<double>(devices.size() - 1); }
  double speed_up(double seconds) const { return times.single / seconds; }
};

void print(const Report& report) {
  const MatrixOptions& options = report.options;
  std::printf("%zu products of %zu x %zu float32, %s\n", options.count, options.size, options.size,
              report.platform.c_str());
  for (const std::string& device : report.devices) std::printf("  %s\n", device.c_str());
  const Times& times = report.times;
  std::printf("\n%-32s %10.3f ms  %7.3f TFLOP/s\n", "one device", times.single * 1e3, report.tera_flops(times.single));
  std::printf("%zu devices\n", report.devices.size());
  std::printf("%-32s %10.3f ms  %7.3f GB/s into the other devices\n", "  distribution of both inputs",
              times.distribution * 1e3, report.distribution_bytes() / times.distribution * 1e-9);
  std::printf("%-32s %10.3f ms  %7.3f TFLOP/s, %.2f times one device\n", "  compute", times.compute * 1e3,
              report.tera_flops(times.compute), report.speed_up(times.compute));
  std::printf("%-32s %10.3f ms\n", "  gather", times.gather * 1e3);
  std::printf("%-32s %10.3f ms  %7.3f TFLOP/s, %.2f times one device\n", "  whole: compute and gather",
              times.whole * 1e3, report.tera_flops(times.whole), report.speed_up(times.whole));
}

void write_json(const Report& report) {
  const Times& times = report.times;
  const nlohmann::ordered_json document = {
      {"platform", report.platform},
      {"devices", report.devices},
      {"size", report.options.size},
      {"count", report.options.count},
      {"repetitions", report.options.repetitions},
      {"unit", "s"},
      {"single", times.single},
      {"distribution", times.distribution},
      {"compute", times.compute},
      {"gather", times.gather},
      {"whole", times.whole},
      {"single_tflops", report.tera_flops(times.single)},
      {"compute_tflops", report.tera_flops(times.compute)},
      {"whole_tflops", report.tera_flops(times.whole)},
  };
  std::ofstream file(report.options.json_path);
  file << document.dump(2) << '\n';
  file.close();
  if (!file) throw std::runtime_error("cannot write " + report.options.json_path);
}

int run(MatrixOptions options) {
  const cl_platform_id platform = find_platform(options.platform);
  const std::vector<cl_device_id> devices = choose_devices(platform, options.devices);
  if (options.size == 0) options.size = default_size(devices);
  MatrixProduct one(platform, {devices.front()}, options.size);
  MatrixProduct all(platform, devices, options.size);
  Report report{options, platform_name(platform), {}, measure(one, all, options)};
  for (cl_device_id device : devices) report.devices.push_back(device_string(device, CL_DEVICE_NAME));
  print(report);
  if (!options.json_path.empty()) write_json(report);
  return 0;
}

}  // namespace
}  // namespace remotecl::bench

int main(int argc, char** argv) {
  using namespace remotecl::bench;
  MatrixOptions options;
  if (const std::optional<int> status = parse(argc, argv, options)) return *status;
  try {
    return run(options);
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "remotecl-matrix-bench: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "remotecl-matrix-bench: %s\n", error.what());
    return 1;
  }
}
