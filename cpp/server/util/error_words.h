#pragma once

#include <exception>
#include <string>

namespace remotecl::server {

// What a client is told about an error. That of an allocation has no words of its own that a user would understand.
std::string words_of(const std::exception& error);

}  // namespace remotecl::server
