#include "server/handlers/ready_build.h"

#include <stdexcept>
#include <system_error>
#include <utility>

#include "server/program/foreign_files.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace {

std::vector<const Program*> pointers_to(const std::vector<Ref<Program>>& programs) {
  std::vector<const Program*> pointers;
  pointers.reserve(programs.size());
  for (const Ref<Program>& program : programs) pointers.push_back(program.get());
  return pointers;
}

}  // namespace

void stop_if_over(const Session& session) {
  if (session.lifetime().over_since()) throw std::runtime_error("the session is over");
}

ReadyBuild::ReadyBuild(Session& session, const ClientFiles& sent, std::vector<Ref<Program>> parts, cl_int bad_option,
                       cl_int bad_source)
    : parts_(std::move(parts)), files_(sent, pointers_to(parts_), session.shared().arguments.header()) {
  Program& program = *parts_.front();
  program.look_for_prints(sent.options);
  sent.headers.for_each([&program](const HeaderFile& header) { program.look_for_prints(as_text(header.content)); });
  if (std::string words = foreign_option(sent.options); !words.empty()) {
    objection_ = BuildObjection{bad_option, std::move(words)};
  } else if (!files_.refusal().empty()) {
    objection_ = BuildObjection{bad_source, files_.refusal()};
  }
  if (objection_) return;
  try {
    auto written = std::make_shared<WrittenFiles>(session.shared().files.write(files_.all()));
    written->set_source(files_.source(0));
    written_ = std::move(written);
  } catch (const std::system_error& error) {
    log_warning("{}", error.what());
    objection_ =
        BuildObjection{CL_OUT_OF_RESOURCES,
                       "remotecl: the server could not write the program's headers to its temporary folder (TMPDIR): " +
                           error.code().message()};
  }
}

std::vector<IncludedSource> ReadyBuild::included(const std::vector<std::string>& names) const {
  std::vector<IncludedSource> all;
  for (const std::string& name : names) {
    const std::size_t index = all.size() + 1;
    all.push_back({parts_.at(index), name, files_.source(index)});
  }
  return all;
}

std::optional<BuildObjection> objection_to_link(std::string_view options) {
  std::string words = foreign_option(options);
  return words.empty() ? std::nullopt : std::optional(BuildObjection{CL_INVALID_LINKER_OPTIONS, std::move(words)});
}

cl_program link_with(Session& session, BuildReport& report, Device& on, std::string_view options,
                     const std::vector<LinkInput>& inputs) {
  return report.link(on, std::string(options), inputs, *session.shared().built.stored(), session.stored_owner(), [&] {
    return on.traits().quirks.links_disturb_each_other
               ? session.shared().files.lock_links([&session] { stop_if_over(session); })
               : FileLock();
  });
}

}  // namespace remotecl::server
