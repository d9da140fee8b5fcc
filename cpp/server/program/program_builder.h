#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/crypto/digest.h"
#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/completion/native.h"
#include "server/driver/device.h"
#include "server/program/build_record.h"
#include "server/program/program.h"
#include "server/program/program_files.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

class BuildCache;
class StoredBuilds;

// Unless requested, the driver does not report which arguments are constant. Then every kernel would count as
// a writer of its inputs, and take them away from other devices.
bool asks_for_arguments(const Device& device, const std::string& options);
inline constexpr char kArgumentInfo[] = "-cl-kernel-arg-info";

// Queries a kernel object that nothing else uses, because the queries change its arguments.
KernelRecord inspect_kernel(cl_kernel kernel, cl_device_id device);
// Reduces the argument details to those of a driver that was not asked for them, except kinds, sizes,
// qualifiers and types: the runtime needs to know which arguments are constant, and which images they accept.
void hide_arguments(KernelRecord& record);

cl_program_binary_type binary_type(cl_program program, cl_device_id device);
cl_int read_binary(cl_program program, std::vector<std::byte>& binary);

// The key of a build in the store, besides the program: the files that the client sent, and the owner whose
// sessions may find it.
struct StoredRequest {
  const ClientFiles& sent;
  std::string owner;
};

// A program that another one is linked from.
struct LinkInput {
  Native<cl_program> program;  // null: there is none for the device
  std::optional<Digest> key;   // of all that it depends on; empty: the linked program is not stored
};

// Builds, compiles or links a program for one device after another, and reports all of them to the client.
// One thread; takes long. Each call returns a new native program to the caller, whether it succeeded or not,
// or null if there is none.
class BuildReport {
 public:
  // `key`: finds an equal build among earlier ones; empty: looks for none. `stored`: finds a build of another
  // process; null: looks for none.
  cl_program build(const Program& program, Device& device, const WrittenFiles& files, BuildCache& before,
                   const std::string& key, const StoredRequest* stored = nullptr);
  cl_program compile(const Program& program, Device& device, const WrittenFiles& files,
                     const std::vector<IncludedSource>& included, StoredBuilds& store, const StoredRequest& stored);
  // `lock`: makes the lock that is held while the driver links.
  cl_program link(Device& device, const std::string& options, const std::vector<LinkInput>& inputs, StoredBuilds& store,
                  const std::string& owner, const std::function<FileLock()>& lock);
  cl_program inspect(const Program& program, Device& device, const StoredBuilds& store);
  // Makes nothing yet of a program whose binary is a recipe.
  cl_program accept_recipe(const Device& device, cl_program_binary_type type);
  // The last program counts as a binary that was not built, although it is made.
  void note_not_built() { records_.back().values.status = CL_BUILD_NONE; }
  // Takes over the records of another report.
  void append(BuildReport&& other);
  // Builds nothing: the server refuses what the client has sent, and gives the reason in the log.
  cl_program refuse(const Device& device, cl_int error, std::string_view log);

  bool prints() const;
  // Whether the last program was made.
  bool succeeded() const;
  bool executable(std::size_t index) const { return records_[index].values.executable != 0; }
  ProgramTraits traits(std::size_t index) const;
  const std::shared_ptr<UnusedKernels>& unused(std::size_t index) const { return asides_[index].unused; }
  // Set if the native program can be linked and what it is made of is known.
  std::optional<NativePart>& part(std::size_t index) { return asides_[index].part; }
  void send(Outbox& outbox, Token token) const;

 private:
  // The options for the driver.
  struct Options {
    std::string text;
    bool asks_for_arguments;  // for the server; the application has not asked
  };

  // The parts of a build that are not reported to the client.
  struct Aside {
    std::shared_ptr<UnusedKernels> unused;
    std::optional<NativePart> part;
  };

  static Options options_for(const Program& program, const Device& device, const WrittenFiles& files);
  // Makes the native program of the last record, and keeps it for later builds. `key`, `stored_key`: as in build().
  cl_program compile_source(const Program& program, Device& device, const WrittenFiles& files, const Options& options,
                            BuildCache& before, const std::string& key, const std::string& owner,
                            const std::optional<Digest>& stored_key);
  // Makes the native program of the last record.
  static cl_program compile_object(BuildRecord& record, const Program& program, Device& device,
                                   const WrittenFiles& files, const std::vector<IncludedSource>& included);
  // Stores the last record and its native program, if there is a key.
  void keep(StoredBuilds& store, const std::string& owner, const std::optional<Digest>& key, const Device& device,
            cl_program native);
  // `binary`: empty unless it came from the store. A failed build is no part, because the store may have another
  // program under its key.
  void note_part(const std::optional<Digest>& key, std::vector<std::byte> binary);
  BuildRecord& begin(const Device& device);
  static void finish(BuildRecord& record, cl_program native, const Device& device, const WrittenFiles* files);
  static void finish_executable(BuildRecord& record, cl_program native, const Device& device,
                                bool hides_arguments = false);

  std::vector<BuildRecord> records_;
  std::vector<Aside> asides_;  // one for each record
};

}  // namespace remotecl::server
