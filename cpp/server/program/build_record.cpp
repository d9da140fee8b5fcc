#include "server/program/build_record.h"

namespace remotecl::server {
namespace {

KernelRecord record_of(const KernelDescription& description) {
  KernelRecord record;
  record.values = description;
  record.name = description.name;
  record.attributes = description.attributes;
  description.arguments.for_each([&record](const ArgumentDescription& argument) {
    record.arguments.push_back({argument, std::string(argument.type_name), std::string(argument.name)});
    record.arguments.back().values.type_name = record.arguments.back().values.name = {};
  });
  record.values.name = record.values.attributes = {};
  record.values.arguments = {};
  return record;
}

}  // namespace

BuildDescriptions::BuildDescriptions(const std::vector<BuildRecord>& records)
    : arguments_(records.size()), kernels_(records.size()) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const BuildRecord& record = records[i];
    arguments_[i].resize(record.kernels.size());
    for (std::size_t k = 0; k < record.kernels.size(); ++k) {
      const KernelRecord& kernel = record.kernels[k];
      for (const auto& argument : kernel.arguments) {
        ArgumentDescription& description = arguments_[i][k].emplace_back(argument.values);
        description.type_name = argument.type_name;
        description.name = argument.name;
      }
      KernelDescription& description = kernels_[i].emplace_back(kernel.values);
      description.name = kernel.name;
      description.attributes = kernel.attributes;
      description.arguments = std::span<const ArgumentDescription>(arguments_[i][k]);
    }
    DeviceBuild& build = builds_.emplace_back(record.values);
    build.log = record.log;
    build.kernels = std::span<const KernelDescription>(kernels_[i]);
  }
}

BuildRecord record_of(const DeviceBuild& build) {
  BuildRecord record;
  record.values = build;
  record.log = build.log;
  build.kernels.for_each([&record](const KernelDescription& kernel) { record.kernels.push_back(record_of(kernel)); });
  record.values.log = {};
  record.values.kernels = {};
  return record;
}

}  // namespace remotecl::server
