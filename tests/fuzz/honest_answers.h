#pragma once

#include "support/records.h"

namespace remotecl::fuzz {

// What a server that means well says to a message of a client, or to as much of it as a client believes. Ids are as the
// client knows them. Empty when the message wants no answer.
std::vector<Record> honest_answers(std::uint16_t code, Bytes payload);

}  // namespace remotecl::fuzz
