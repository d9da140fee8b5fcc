#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/bytes.h"

namespace remotecl::fuzz {

// Where a field of an encoded message lies.
struct WireField {
  enum class Kind { kNumber, kList };
  Kind kind;
  std::size_t offset;  // of a list: of its 32-bit count
  std::size_t size;    // of a number in bytes; of a list's content
  // Of a list: where its items begin, behind its count; none in a list within something that has a length of its own.
  std::vector<std::size_t> items{};
  bool is_resizable = true;
};

// The fields of a message of that code, also those of messages in it, as far as they are whole. Empty for an unknown
// code.
std::vector<WireField> wire_fields(std::uint16_t code, Bytes payload);

// A message of that code whose fields are all 0, encoded. Empty for an unknown code.
std::vector<std::byte> blank_message(std::uint16_t code);

// All codes of commands.def.
const std::vector<std::uint16_t>& message_codes();

}  // namespace remotecl::fuzz
