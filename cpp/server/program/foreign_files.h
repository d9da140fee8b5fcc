#pragma once

#include <string>
#include <string_view>

#include "server/program/program_files.h"

namespace remotecl::server {

// What a build would read of this machine's files that its client has not sent, as words for the client: which part of
// it, why it is refused and what helps. Empty: nothing. This keeps mistakes and plain requests from the native
// compiler; what a program that means harm gets to is up to Containment.

// Of build, compile or link options, before the folders that the client has sent are added.
std::string foreign_option(std::string_view options);
// Of a source that may include `files`.
std::string foreign_include(std::string_view source, const ClientFiles& files);

// Whether options may say more of files, or of whether there are any, than `-I` does.
bool mentions_files(std::string_view options);
// Whether each file that a source may include, or ask for, is one of `files`.
bool includes_only_sent(std::string_view source, const ClientFiles& files);

}  // namespace remotecl::server
