#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/util/descriptor.h"

namespace remotecl::testing {

// Sockets of an ordinary program on this machine. They block; each call throws std::system_error where it fails, and
// after ten seconds without progress.

server::Descriptor connect_to(std::uint16_t port);
server::Descriptor connect_to_path(const std::string& path);
// A listening socket with a port of the system's choice.
server::Descriptor listen_on_loopback(std::uint16_t& port);
server::Descriptor listen_on_path(const std::string& path);
server::Descriptor accept_from(const server::Descriptor& listener);
server::Descriptor udp_socket(std::uint16_t& port);

void send_all(const server::Descriptor& socket, const void* data, std::size_t size);
// Returns fewer bytes only where the stream ends.
std::size_t receive_all(const server::Descriptor& socket, void* data, std::size_t size);
std::string receive_until_end(const server::Descriptor& socket);
// Bytes that differ from each other, made from a seed.
std::vector<std::uint8_t> pattern(std::size_t size, std::uint32_t seed);
// The number of descriptors of this process.
std::size_t open_descriptors();

}  // namespace remotecl::testing
