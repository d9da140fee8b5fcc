#include "server/program/include_review.h"

#include <algorithm>

#include "runtime/includes/directives.h"
#include "server/util/format.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

bool is_absolute(const IncludeName& name) { return name.name.starts_with('/'); }

bool climbs(const IncludeName& name) {
  const fs::path path(name.name);
  return std::find(path.begin(), path.end(), "..") != path.end();
}

}  // namespace

IncludeReview::IncludeReview(const std::vector<std::string_view>& sources, const ClientFiles& files)
    : sources_(sources) {
  files.include_folders.for_each([this](const IncludeFolder& folder) { folders_.emplace(folder.path); });
  files.headers.for_each([this](const HeaderFile& header) {
    sources_.push_back(as_text(header.content));
    const fs::path path = fs::path(header.path).lexically_normal();
    folders_.insert(path.parent_path());
    headers_.insert(path);
  });
  changes_.resize(sources_.size());
  const bool may_name = may_name_files(files.options) || std::any_of(sources_.begin(), sources_.end(), may_name_files);
  if (!may_name) return;
  IncludeNames names;
  names.add_options(files.options);
  for (const std::string_view source : sources_) names.add(source);
  names_only_sent_ = !names.hides_questions();
  for (const IncludeMention& mention : names.mentions()) {
    if (refusal_.empty()) judge(names, mention);
  }
}

// A program that its own machine's compiler accepts names only files that are there, and the client sends all of them:
// if one of the possible names is that of a file, it is the one, and the others come from macros that are defined
// elsewhere.
void IncludeReview::judge(IncludeNames& names, const IncludeMention& mention) {
  bool is_complete = true;
  const std::vector<IncludeName> all = names.names_of(mention, is_complete);
  if (!is_complete) return refuse(mention, "may name too many files");
  if (all.empty()) {
    names_only_sent_ = false;
    return names.is_unknown(mention) ? void() : refuse(mention, "does not say its file's name as \"NAME\" or <NAME>");
  }
  std::vector<IncludeName> sent, absolute;
  std::copy_if(all.begin(), all.end(), std::back_inserter(sent), [this](const auto& name) { return is_sent(name); });
  std::copy_if(all.begin(), all.end(), std::back_inserter(absolute), is_absolute);
  const bool leads_out = std::any_of(all.begin(), all.end(), [&](const IncludeName& name) {
    return climbs(name) && !is_absolute(name) && !is_sent(name);
  });
  if (absolute.empty() && (!leads_out || mention.is_question())) {
    names_only_sent_ = names_only_sent_ && sent.size() == all.size();
  } else if (mention.is_question()) {
    names_only_sent_ = names_only_sent_ && sent.size() == 1;
    change(mention, sent.empty() ? absolute.front() : sent.front());
  } else if (sent.size() == 1) {
    change(mention, sent.front());
  } else if (sent.size() > 1) {
    refuse(mention, "may name several files, some by absolute paths: " + sent[0].text() + ", " + sent[1].text());
  } else if (!absolute.empty()) {
    refuse(mention,
           "names a file by an absolute path that the client has not sent, which would be one of the server's");
  } else {
    refuse(mention, "leads to a file that the client has not sent");
  }
}

void IncludeReview::refuse(const IncludeMention& mention, std::string_view why) {
  names_only_sent_ = false;
  refusal_ = format_text(
      "remotecl: \"#{} {}\" is refused: it {}. The client sends the files that it finds on its own machine: by "
      "absolute "
      "paths, from folders that -I names, and from the program's working folder",
      mention.directive, mention.operand.substr(0, 200), why);
}

void IncludeReview::change(const IncludeMention& mention, const IncludeName& name) {
  std::string text = name.text();
  if (is_absolute(name)) {
    const std::string path = resolved("/", name.name).value_or("remotecl-nowhere").relative_path().string();
    text = IncludeName{path, path.find('>') != std::string::npos}.text();
  }
  changes_[mention.source].push_back({mention.begin, mention.end, std::move(text)});
}

std::optional<std::string> IncludeReview::rewritten(std::size_t source) const {
  if (changes_[source].empty()) return std::nullopt;
  return changed(sources_[source], changes_[source]);
}

std::optional<fs::path> IncludeReview::resolved(const fs::path& folder, const fs::path& name) {
  std::vector<fs::path> parts;
  for (const auto& part : (folder / name).relative_path()) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (parts.empty()) {
      return std::nullopt;
    } else {
      parts.pop_back();
    }
  }
  fs::path path = "/";
  for (const fs::path& part : parts) path /= part;
  return path;
}

bool IncludeReview::is_sent(const IncludeName& name) const {
  const auto leads_to_sent = [&](const fs::path& folder) {
    const auto path = resolved(folder, name.name);
    return path && headers_.contains(*path);
  };
  return is_absolute(name) ? leads_to_sent("/") : std::any_of(folders_.begin(), folders_.end(), leads_to_sent);
}

}  // namespace remotecl::server
