#include "server/daemon/store_options.h"

#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runtime/store/file_directory.h"
#include "runtime/store/user_cache.h"
#include "server/admission/limits.h"
#include "server/util/log.h"

namespace remotecl::server {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kSizeMin = 1u << 20;

// Empty where this user has no folder at all.
fs::path default_folder() {
  fs::path cache = user_cache();
  const passwd* const account = cache.empty() ? ::getpwuid(::geteuid()) : nullptr;
  if (account != nullptr && account->pw_dir[0] == '/') cache = fs::path(account->pw_dir) / ".cache" / "remotecl";
  return cache.empty() ? cache : cache / "store";
}

std::string realm(const std::optional<AccessToken>& token, const std::string& client_ca) {
  const std::string_view shown = token ? as_text(token->key()) : std::string_view();
  std::ifstream file(client_ca, std::ios::binary);
  const std::string signers{std::istreambuf_iterator<char>(file), {}};
  const Digest digest = sha256(as_bytes(std::to_string(shown.size()) + ":" + std::string(shown) + signers));
  return std::string(as_text(std::as_bytes(std::span(digest))));
}

}  // namespace

std::unique_ptr<Store> open_store(const StoreOptions& options, const std::optional<AccessToken>& token,
                                  const std::string& client_ca) {
  const auto size = parse_size(options.size);
  if (!size || *size < kSizeMin) {
    throw std::invalid_argument("--store-size " + options.size +
                                ": write a size from 1 MiB on, like \"4 GiB\" (kB, MB, GB, TB, KiB, MiB, GiB or TiB)");
  }
  const bool is_default = options.folder.empty() || options.folder == "default";
  const fs::path folder = is_default ? default_folder() : fs::path(options.folder);
  try {
    if (folder.empty()) throw std::runtime_error("this user has no home folder: name one with --store");
    Store::Bounds bounds;
    bounds.directory = *size / 4;
    bounds.memory = std::min(bounds.memory, bounds.directory);
    const auto owners = options.trusts_users ? Store::Owners::kTogether : Store::Owners::kApart;
    auto store = std::make_unique<Store>(std::make_unique<FileDirectory>(folder), bounds, realm(token, client_ca),
                                         Store::Kind::kBuilds, owners);
    // Uploads need no memory here, because the kernel caches their files. Owners stay apart even if users trust each
    // other's programs, because knowing a digest must not give access to another user's bytes.
    store->add_uploads(std::make_unique<Store>(std::make_unique<FileDirectory>(folder, FileDirectory::Sync::kNever),
                                               Store::Bounds{.directory = *size - bounds.directory, .memory = 0},
                                               realm(token, client_ca), Store::Kind::kUploads));
    return store;
  } catch (const std::runtime_error& error) {
    log_warning("built programs are not stored: {}", error.what());
    return nullptr;
  }
}

}  // namespace remotecl::server
