#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/program/build_record.h"
#include "server/program/program.h"
#include "server/program/program_files.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

class BuildCache;

// Asks the driver about a kernel object of which nobody else knows: finding out changes its arguments.
KernelRecord inspect_kernel(cl_kernel kernel, cl_device_id device);
// Leaves of its arguments what a driver tells that was not asked for them, but for kinds, sizes, qualifiers and types:
// the runtime needs to know what is constant, and which images it takes.
void hide_arguments(KernelRecord& record);

cl_int read_binary(cl_program program, std::vector<std::byte>& binary);

// What a build is found by in the store, beside the program: what the client has sent, and whose sessions may find it.
struct StoredRequest {
  const ClientFiles& sent;
  std::string owner;
};

// A program that another one may include, and how.
struct IncludedSource {
  Ref<Program> program;
  std::string name;
};

// Builds, compiles or links a program for devices, one after another, and tells the client of all of them. One
// thread; takes long. Each call gives a new native program, whether it succeeded or not, to the caller; null when
// there is none.
class BuildReport {
 public:
  // `key`: what to find an equal one by among those built before; empty: none is looked for. `stored`: what to find one
  // by that another process has built; null: none is looked for.
  cl_program build(const Program& program, Device& device, const PlacedFiles& files, BuildCache& before,
                   const std::string& key, const StoredRequest* stored = nullptr);
  cl_program compile(const Program& program, Device& device, const PlacedFiles& files,
                     const std::vector<IncludedSource>& included);
  cl_program link(Device& device, const std::string& options, const std::vector<cl_program>& inputs);
  cl_program inspect(const Program& program, Device& device);
  // Builds nothing: the server does not take what the client has sent, and says so in the log.
  cl_program refuse(const Device& device, cl_int error, std::string_view log);

  bool prints() const;
  bool executable(std::size_t index) const { return records_[index].values.executable != 0; }
  ProgramTraits traits(std::size_t index) const;
  const std::shared_ptr<UnusedKernels>& unused(std::size_t index) const { return unused_[index]; }
  void send(Outbox& outbox, Token token) const;

 private:
  BuildRecord& begin(const Device& device);
  static void finish(BuildRecord& record, cl_program native, const Device& device, const PlacedFiles* files);
  static void finish_executable(BuildRecord& record, cl_program native, const Device& device,
                                bool hides_arguments = false);

  std::vector<BuildRecord> records_;
  std::vector<std::shared_ptr<UnusedKernels>> unused_;  // one for each; may be null
};

}  // namespace remotecl::server
