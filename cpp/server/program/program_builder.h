#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/crypto/digest.h"
#include "runtime/protocol/messages.h"
#include "server/completion/cl.h"
#include "server/driver/device.h"
#include "server/program/build_record.h"
#include "server/program/program.h"
#include "server/program/program_files.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

class BuildCache;

// Unless requested, the driver does not report which arguments are constant. Then every kernel would count as
// a writer of its inputs, and take them away from other devices.
bool asks_for_arguments(const Device& device, const std::string& options);
inline constexpr char kArgumentInfo[] = "-cl-kernel-arg-info";

// Queries a kernel object that nothing else uses, because the queries change its arguments.
KernelRecord inspect_kernel(cl_kernel kernel, cl_device_id device);
// Reduces the argument details to those of a driver that was not asked for them, except kinds, sizes,
// qualifiers and types: the runtime needs to know which arguments are constant, and which images they accept.
void hide_arguments(KernelRecord& record);

cl_int read_binary(cl_program program, std::vector<std::byte>& binary);

// The other servers of the client that build the same program.
class BuildPeers {
 public:
  virtual ~BuildPeers() = default;

  // Returns what another server has found out, an encoded build; empty: nothing. Takes as long as the build there, but
  // not for ever.
  virtual std::vector<std::byte> ask(const Digest& key) = 0;
  virtual void publish(const Digest& key, std::vector<std::byte> entry) = 0;
};

// The key of a build in the store, besides the program: the files that the client sent, and the owner whose
// sessions may find it.
struct StoredRequest {
  const ClientFiles& sent;
  std::string owner;
  BuildPeers* peers = nullptr;  // that build the same
  bool may_be_late = false;     // the report may come before the native program
};

// A build whose outcome the client is told, without a native program yet.
struct LateBuild {
  std::optional<Digest> key;
  std::vector<std::byte> entry;  // with a binary, from the store or a peer
  bool is_peers = false;
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
  // Makes the native program of such a build.
  cl_program build_late(const Program& program, Device& device, const PlacedFiles& files, BuildCache& before,
                        const std::string& key, const std::string& owner, const LateBuild& late);
  cl_program compile(const Program& program, Device& device, const PlacedFiles& files,
                     const std::vector<IncludedSource>& included);
  cl_program link(Device& device, const std::string& options, const std::vector<cl_program>& inputs);
  cl_program inspect(const Program& program, Device& device);
  // Takes over the records of another report.
  void append(BuildReport&& other);
  // Builds nothing: the server refuses what the client has sent, and gives the reason in the log.
  cl_program refuse(const Device& device, cl_int error, std::string_view log);

  bool prints() const;
  bool executable(std::size_t index) const { return records_[index].values.executable != 0; }
  ProgramTraits traits(std::size_t index) const;
  const std::shared_ptr<UnusedKernels>& unused(std::size_t index) const { return unused_[index]; }
  // Set where build() has returned null because of StoredRequest::may_be_late.
  std::optional<LateBuild>& late(std::size_t index) { return late_[index]; }
  void send(Outbox& outbox, Token token) const;

 private:
  // The options for the driver.
  struct Options {
    std::string text;
    bool asks_for_arguments;  // the application does not
  };

  static Options options_for(const Program& program, const Device& device, const PlacedFiles& files);
  // Returns true if the store or a peer knows the build. `native`: null if it failed or is late.
  bool look_up(const Program& program, Device& device, const PlacedFiles& files, const Options& options,
               BuildCache& before, const StoredRequest& stored, BuildPeers* peers, const Digest& key,
               cl_program& native);
  cl_program load_peers(Bytes entry, Device& device, const PlacedFiles& files, const Options& options,
                        BuildCache& before);
  // Makes the native program of the last record, and keeps it for later builds. `key`, `stored_key`: as build() has
  // them.
  cl_program compile_source(const Program& program, Device& device, const PlacedFiles& files, const Options& options,
                            BuildCache& before, const std::string& key, const std::string& owner,
                            const std::optional<Digest>& stored_key);
  void publish(BuildPeers& peers, const Digest& key, cl_program native, BuildCache& before) const;
  BuildRecord& begin(const Device& device);
  static void finish(BuildRecord& record, cl_program native, const Device& device, const PlacedFiles* files);
  static void finish_executable(BuildRecord& record, cl_program native, const Device& device,
                                bool hides_arguments = false);

  std::vector<BuildRecord> records_;
  std::vector<std::shared_ptr<UnusedKernels>> unused_;  // one for each record; may be null
  std::vector<std::optional<LateBuild>> late_;          // likewise
  bool is_peers_ = false;                               // the last binary is a peer's: for this session only
};

}  // namespace remotecl::server
