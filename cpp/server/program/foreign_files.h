#pragma once

#include <string>
#include <string_view>

namespace remotecl::server {

// Detects build, compile or link options that name files of this machine: before the folders that the client has sent
// are added. Returns a message for the client: which part, why it is refused, and what helps; empty if there are none.
// Like IncludeReview, this keeps mistakes and plain requests from the native compiler. Containment limits what a
// malicious program can reach.
std::string foreign_option(std::string_view options);

}  // namespace remotecl::server
