#pragma once

#include <optional>
#include <string>

#include "runtime/protocol/frames.h"
#include "runtime/transport/connection.h"

namespace remotecl::server {

// Reads a Hello within the protocol's time limit. Empty for a peer that is none of ours: it gets no answer.
std::optional<Hello> read_hello(Connection& connection);

void accept(Connection& connection, std::uint64_t epoch, std::uint64_t session, const Secret& secret,
            std::uint64_t features = 0);
void refuse(Connection& connection, std::uint64_t epoch, WelcomeStatus status, std::string_view text);
std::string version_mismatch_text(std::uint32_t client_version);

// Takes as long for equal secrets as for different ones.
bool same_secret(const Secret& left, const Secret& right);

// From the system's generator. Throws std::system_error.
void fill_random(MutableBytes bytes);

}  // namespace remotecl::server
