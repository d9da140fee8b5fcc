#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/protocol/messages.h"
#include "server/cl.h"
#include "server/device.h"
#include "server/outbox.h"
#include "server/program.h"
#include "server/program_files.h"

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

// Asks the driver about a kernel object of which nobody else knows: finding out changes its arguments.
KernelRecord inspect_kernel(cl_kernel kernel, cl_device_id device);

cl_int read_binary(cl_program program, std::vector<std::byte>& binary);

// Builds a program for devices, one after another, and tells the client of all of them. One thread; takes
// long.
class BuildReport {
 public:
  // Gives a new native program, built or not, to the caller; null when there is none.
  cl_program build(const Program& program, Device& device, const PlacedFiles& files);
  bool succeeded(std::size_t index) const { return records_[index].values.status == CL_BUILD_SUCCESS; }
  void send(Outbox& outbox, Token token) const;

 private:
  struct Record {
    DeviceBuild values;
    std::string log;
    std::vector<KernelRecord> kernels;
  };

  std::vector<Record> records_;
};

}  // namespace remotecl::server
