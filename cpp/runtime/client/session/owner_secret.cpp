#include "runtime/client/session/owner_secret.h"

#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <vector>

#include "runtime/crypto/secret.h"
#include "runtime/store/file_directory.h"
#include "runtime/store/user_cache.h"

namespace remotecl {
namespace {

// The same in all programs of this user. Whichever of them comes first makes it; if several do, the last one wins.
std::optional<Digest> owner_secret() {
  constexpr char kName[] = "secret";
  const std::filesystem::path cache = user_cache();
  if (cache.empty()) return std::nullopt;
  FileDirectory folder(cache / "owner");
  auto kept = folder.read(kName, sizeof(Digest));
  if (!kept || kept->size() != sizeof(Digest)) {
    Digest made{};
    fill_random(std::as_writable_bytes(std::span(made)));
    if (!folder.write(kName, std::as_bytes(std::span(made)))) return std::nullopt;
    kept = folder.read(kName, sizeof(Digest));
  }
  if (!kept || kept->size() != sizeof(Digest)) return std::nullopt;
  Digest secret;
  std::memcpy(secret.data(), kept->data(), secret.size());
  return secret;
}

}  // namespace

Digest owner_for(std::string_view server) {
  try {
    const std::optional<Digest> secret = owner_secret();
    if (!secret) return {};
    // Both parts have one size, so what one server has cannot be extended to what another one gets.
    const Digest parts[] = {*secret, sha256(as_bytes(server))};
    return sha256(std::as_bytes(std::span(parts)));
  } catch (const std::exception&) {  // the folder is not private, or cannot be made
    return {};
  }
}

}  // namespace remotecl
