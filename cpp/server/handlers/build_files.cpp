#include "server/handlers/build_files.h"

#include <algorithm>
#include <span>
#include <utility>

#include "server/program/include_review.h"

namespace remotecl::server {
namespace {

// Below the client's root, where no client has files.
constexpr std::string_view kFolder = "/remotecl-server";

bool asks_for_name(std::string_view text) { return text.find("__FILE__") != std::string_view::npos; }

// Before a header's text: gives it the name that it has on the client's machine.
std::string name_line(std::string_view path) {
  std::string line = "#line 1 \"";
  for (const char c : path) {
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  return line + "\"\n";
}

}  // namespace

BuildFiles::BuildFiles(const ClientFiles& sent, const std::vector<const Program*>& parts,
                       const ArgumentProvider::Header& provided)
    : sources_(parts.size()), all_(sent) {
  sent.include_folders.for_each([this](const IncludeFolder& folder) { folders_.push_back(folder); });
  sent.headers.for_each([this](const HeaderFile& header) { headers_.push_back(header); });
  std::vector<std::string_view> sources;
  sources.reserve(parts.size());
  for (const Program* part : parts) {
    sources.push_back(part->origin() == ProgramOrigin::kSource ? std::string_view(part->code()) : std::string_view());
  }
  add_provided(sources, provided);
  rewrite(sources);
  all_.include_folders = std::span<const IncludeFolder>(folders_);
  all_.headers = std::span<const HeaderFile>(headers_);
}

void BuildFiles::add_provided(const std::vector<std::string_view>& sources, const ArgumentProvider::Header& provided) {
  if (provided.name.empty()) return;
  const auto names_it = [&provided](std::string_view text) { return text.find(provided.name) != text.npos; };
  const bool is_used = std::any_of(sources.begin(), sources.end(), names_it) ||
                       std::any_of(headers_.begin(), headers_.end(),
                                   [&](const HeaderFile& header) { return names_it(as_text(header.content)); });
  if (!is_used) return;
  provided_path_ = std::string(kFolder).append("/").append(provided.name);
  folders_.insert(folders_.begin(), {kFolder});  // first, so that it wins over a client's file of this name
  headers_.push_back({provided_path_, as_bytes(provided.text)});
}

void BuildFiles::rewrite(const std::vector<std::string_view>& sources) {
  ClientFiles files = all_;
  files.include_folders = std::span<const IncludeFolder>(folders_);
  files.headers = std::span<const HeaderFile>(headers_);
  const IncludeReview review(sources, files);
  refusal_ = review.refusal();
  if (!refusal_.empty()) return;
  bool needs_root = false;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    sources_[i] = review.rewritten(i);
    needs_root = needs_root || sources_[i];
  }
  contents_.reserve(headers_.size());  // they are referred to
  for (std::size_t i = 0; i < headers_.size(); ++i) {
    HeaderFile& header = headers_[i];
    std::optional<std::string> content = review.rewritten(sources.size() + i);
    needs_root = needs_root || content;
    if (asks_for_name(as_text(header.content))) {
      content = name_line(header.path).append(content ? *content : as_text(header.content));
    }
    if (!content) continue;
    contents_.push_back(*std::move(content));
    header.content = as_bytes(contents_.back());
  }
  if (needs_root) folders_.push_back({"/"});
}

}  // namespace remotecl::server
