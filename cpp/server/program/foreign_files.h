#pragma once

#include <string>
#include <string_view>

#include "server/program/program_files.h"

namespace remotecl::server {

// Detects files of this machine that a build would read although its client has not sent them. Returns a
// message for the client: which part, why it is refused, and what helps; empty if there are none. This keeps
// mistakes and plain requests from the native compiler. Containment limits what a malicious program can
// reach.

// For build, compile or link options, before the folders that the client has sent are added.
std::string foreign_option(std::string_view options);
// For a source that may include `files`.
std::string foreign_include(std::string_view source, const ClientFiles& files);

// Returns true if options may refer to files, or test whether they exist, other than by `-I`.
bool mentions_files(std::string_view options);
// Returns true if each file that a source may include or test for is one of `files`.
bool includes_only_sent(std::string_view source, const ClientFiles& files);

}  // namespace remotecl::server
