#include "server/handlers/build_files.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "server/network/network.h"

namespace remotecl::server {
namespace {

constexpr std::string_view kLibrary = "remotecl/net.cl";
// Below the client's root, where no client has files.
constexpr std::string_view kFolder = "/remotecl-server", kPath = "/remotecl-server/remotecl/net.cl";

bool names_library(std::string_view text) { return text.find(kLibrary) != std::string_view::npos; }

}  // namespace

BuildFiles::BuildFiles(const ClientFiles& sent, const std::vector<const Program*>& parts) : all_(sent) {
  bool is_used = std::any_of(parts.begin(), parts.end(), [](const Program* part) {
    return part->origin() == ProgramOrigin::kSource && names_library(part->code());
  });
  sent.headers.for_each([&](const HeaderFile& header) {
    is_used = is_used || names_library(as_text(header.content));
    headers_.push_back(header);
  });
  if (!is_used) return;
  folders_.push_back({kFolder});  // first, so that it wins over a client's file of this name
  sent.include_folders.for_each([this](const IncludeFolder& folder) { folders_.push_back(folder); });
  headers_.push_back({kPath, as_bytes(Network::kernel_library())});
  all_.include_folders = std::span<const IncludeFolder>(folders_);
  all_.headers = std::span<const HeaderFile>(headers_);
}

}  // namespace remotecl::server
