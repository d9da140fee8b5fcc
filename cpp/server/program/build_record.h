#pragma once

#include <string>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl::server {

// The description of one kernel for the client. Owns what KernelDescription refers to.
struct KernelRecord {
  struct Argument {
    ArgumentDescription values;
    std::string type_name, name;
  };
  std::string name, attributes;
  KernelDescription values;
  std::vector<Argument> arguments;
};

// How a program was built for one device. Owns what DeviceBuild refers to.
struct BuildRecord {
  DeviceBuild values;
  std::string log;
  std::vector<KernelRecord> kernels;
  bool prints = false;  // found by its compiler, which is asked only if its source leaves it open
};

// Records in the form of a message. Refers to the records, which must not change meanwhile.
class BuildDescriptions {
 public:
  explicit BuildDescriptions(const std::vector<BuildRecord>& records);
  BuildDescriptions(const BuildDescriptions&) = delete;
  BuildDescriptions& operator=(const BuildDescriptions&) = delete;

  const std::vector<DeviceBuild>& builds() const { return builds_; }

 private:
  // The outer vectors are complete before a span of them is taken.
  std::vector<std::vector<std::vector<ArgumentDescription>>> arguments_;
  std::vector<std::vector<KernelDescription>> kernels_;
  std::vector<DeviceBuild> builds_;
};

// The reverse of BuildDescriptions.
BuildRecord record_of(const DeviceBuild& build);

}  // namespace remotecl::server
