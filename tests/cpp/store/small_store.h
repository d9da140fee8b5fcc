#pragma once

#include <string>

#include "runtime/crypto/digest.h"
#include "runtime/store/store.h"

namespace remotecl::testing {

// A store that finds nothing but what its directory has.
inline const Store::Bounds kNoMemory{.directory = 1u << 20, .memory = 0};

inline Digest key_of(int number) { return sha256(as_bytes(std::to_string(number))); }

// Of the tests that damage entries.
inline constexpr int kCases = 1000;
inline const std::string kOwners[] = {"alice", "bob"};

}  // namespace remotecl::testing
