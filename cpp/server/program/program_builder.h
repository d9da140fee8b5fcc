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

// Queries a kernel object that nothing else uses, because the queries change its arguments.
KernelRecord inspect_kernel(cl_kernel kernel, cl_device_id device);
// Reduces the argument details to those of a driver that was not asked for them, except kinds, sizes,
// qualifiers and types: the runtime needs to know which arguments are constant, and which images they accept.
void hide_arguments(KernelRecord& record);

cl_int read_binary(cl_program program, std::vector<std::byte>& binary);

// What identifies a build in the store besides the program: what the client has sent, and the owner whose
// sessions may find it.
struct StoredRequest {
  const ClientFiles& sent;
  std::string owner;
};

// A program that another one may include, and its name there.
struct IncludedSource {
  Ref<Program> program;
  std::string name;
};

// Builds, compiles or links a program for one device after another, and reports all of them to the client.
// One thread; takes long. Each call returns a new native program to the caller, whether it succeeded or not,
// or null if there is none.
class BuildReport {
 public:
  // `key`: finds an equal build among earlier ones; empty: looks for none. `stored`: finds a build of another
  // process; null: looks for none.
  cl_program build(const Program& program, Device& device, const PlacedFiles& files, BuildCache& before,
                   const std::string& key, const StoredRequest* stored = nullptr);
  cl_program compile(const Program& program, Device& device, const PlacedFiles& files,
                     const std::vector<IncludedSource>& included);
  cl_program link(Device& device, const std::string& options, const std::vector<cl_program>& inputs);
  cl_program inspect(const Program& program, Device& device);
  // Builds nothing: the server refuses what the client has sent, and gives the reason in the log.
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
  std::vector<std::shared_ptr<UnusedKernels>> unused_;  // one for each record; may be null
};

}  // namespace remotecl::server
