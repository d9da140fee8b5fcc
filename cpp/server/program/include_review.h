#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/includes/include_names.h"
#include "server/program/program_files.h"

namespace remotecl::server {

// Judges which files a compilation would read: those that its client has sent, the driver's own, or files of this
// machine that are neither, which is refused. One thread.
class IncludeReview {
 public:
  // `sources`: the texts of the programs; those of the headers follow them.
  IncludeReview(const std::vector<std::string_view>& sources, const ClientFiles& files);

  // For the client: which line, why it is refused, and what helps; empty if nothing is.
  const std::string& refusal() const { return refusal_; }
  // Whether each file that the texts may name is one that the client has sent.
  bool names_only_sent() const { return names_only_sent_; }
  // A text in which absolute names have become names below the folder "/" of the client's files, which must be searched
  // then. nullopt: there are none.
  std::optional<std::string> rewritten(std::size_t source) const;

 private:
  void judge(IncludeNames& names, const IncludeMention& mention);
  void refuse(const IncludeMention& mention, std::string_view why);
  void change(const IncludeMention& mention, const IncludeName& name);
  // Where a name leads from a folder; nullopt if that is above the client's root, which is a folder of this machine.
  static std::optional<std::filesystem::path> resolved(const std::filesystem::path& folder,
                                                       const std::filesystem::path& name);
  bool is_sent(const IncludeName& name) const;

  std::vector<std::string_view> sources_;
  std::vector<std::vector<IncludeChange>> changes_;  // for each source
  std::set<std::filesystem::path> headers_, folders_;
  std::string refusal_;
  bool names_only_sent_ = true;
};

}  // namespace remotecl::server
