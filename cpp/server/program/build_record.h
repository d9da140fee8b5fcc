#pragma once

#include <string>
#include <vector>

#include "runtime/protocol/messages.h"

namespace remotecl::server {

// What the client wants to know of one kernel; owns what KernelDescription views.
struct KernelRecord {
  struct Argument {
    ArgumentDescription values;
    std::string type_name, name;
  };
  std::string name, attributes;
  KernelDescription values;
  std::vector<Argument> arguments;
};

// How a program was built for one device; owns what DeviceBuild views.
struct BuildRecord {
  DeviceBuild values;
  std::string log;
  std::vector<KernelRecord> kernels;
  bool prints = false;  // as its compiler has found, which is asked only where the text does not tell
};

// Records as a message has them: views of these, which stay as they are meanwhile.
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

// The reverse.
BuildRecord record_of(const DeviceBuild& build);

}  // namespace remotecl::server
