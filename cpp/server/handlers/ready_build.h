#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/handlers/build_files.h"
#include "server/program/program.h"
#include "server/program/program_builder.h"
#include "server/program/program_files.h"
#include "server/session/session.h"

namespace remotecl::server {

// Why a build may not run.
struct BuildObjection {
  cl_int error;
  std::string words;
};

// Throws if the session is over, whose work is abandoned.
void stop_if_over(const Session& session);

// A build or a compilation of which the compiler can be given everything: the client's files are written to where it
// finds them. Refers to what the client has sent. Made by a building thread; then only read, by any thread.
class ReadyBuild {
 public:
  // `parts`: the program and those that it includes, for which this looks for prints. `bad_option`, `bad_source`: the
  // errors for an option or a source that names files of this machine.
  ReadyBuild(Session& session, const ClientFiles& sent, std::vector<Ref<Program>> parts, cl_int bad_option,
             cl_int bad_source);

  const std::optional<BuildObjection>& objection() const { return objection_; }
  // All of these if there is no objection.
  const ClientFiles& sent() const { return files_.all(); }
  const std::shared_ptr<const WrittenFiles>& files() const { return written_; }
  // The programs behind the first one, under the names that they are included by.
  std::vector<IncludedSource> included(const std::vector<std::string>& names) const;

 private:
  const std::vector<Ref<Program>> parts_;
  const BuildFiles files_;
  std::optional<BuildObjection> objection_;
  std::shared_ptr<const WrittenFiles> written_;
};

std::optional<BuildObjection> objection_to_link(std::string_view options);
// Calls BuildReport::link(), alone where links disturb each other.
cl_program link_with(Session& session, BuildReport& report, Device& on, std::string_view options,
                     const std::vector<LinkInput>& inputs);

}  // namespace remotecl::server
