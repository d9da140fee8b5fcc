#include "runtime/crypto/checksum.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "runtime/crypto/crypto_library.h"

namespace remotecl {
namespace {

constexpr std::size_t kAddedMax = 1u << 30;  // in one call of the library, whose sizes are ints

const EVP_CIPHER* cipher() {
  static const EVP_CIPHER* const cipher = EVP_CIPHER_fetch(crypto_library(), "AES-128-GCM", nullptr);
  return cipher;
}

// Nothing but memory can be missing, because the algorithm is linked in.
void require(bool condition) {
  if (!condition) throw std::bad_alloc();
}

}  // namespace

Checksum::Checksum() : context_(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free) {
  constexpr std::array<unsigned char, 16> kKey{}, kStart{};
  require(context_ != nullptr && cipher() != nullptr &&
          EVP_EncryptInit_ex2(context_.get(), cipher(), kKey.data(), kStart.data(), nullptr) == 1);
}

void Checksum::add(Bytes bytes) {
  while (!bytes.empty()) {
    const Bytes next = bytes.first(std::min(bytes.size(), kAddedMax));
    int size = 0;
    require(EVP_EncryptUpdate(context_.get(), nullptr, &size, reinterpret_cast<const unsigned char*>(next.data()),
                              static_cast<int>(next.size())) == 1);
    bytes = bytes.subspan(next.size());
  }
}

std::uint64_t Checksum::value() {
  std::array<unsigned char, 16> tag{};
  int size = 0;
  require(EVP_EncryptFinal_ex(context_.get(), tag.data(), &size) == 1 &&
          EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag.size()), tag.data()) == 1);
  std::uint64_t value = 0;
  std::memcpy(&value, tag.data(), sizeof value);
  return value;
}

}  // namespace remotecl
