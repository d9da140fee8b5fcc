#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "server/util/descriptor.h"

// The ordinary program's side of connections to a kernel, and both sides of those that kernels are compared with.
namespace remotecl::bench {

enum Mode { kEcho = 0, kReceive = 1, kSend = 2 };

// What connections are served by: a kernel, or threads of this program.
struct Work {
  Mode mode;
  std::size_t size, connections, messages;  // messages on each connection, where the server sends
};

// The part of the program that is measured: it talks to whatever serves at the other end. Returns the seconds.
using Client = std::function<double(std::vector<server::Descriptor>& sockets)>;

// Connects to a port that nobody may have bound yet.
std::vector<server::Descriptor> connect_all(std::uint16_t port, std::size_t count);
std::uint16_t free_port();

// Serves with a thread for each connection.
double run_program(const Work& work, const Client& client);

// Each has a thread for each connection, and throws what any of them threw.
// Sends messages and reads until the server has seen the end and closed.
double send_messages(std::vector<server::Descriptor>& sockets, const Work& work);
double receive_messages(std::vector<server::Descriptor>& sockets, const Work& work);
// Gets its messages back. `samples`: the seconds of each, for each connection.
double ping(std::vector<server::Descriptor>& sockets, const Work& work, std::vector<std::vector<double>>& samples);

}  // namespace remotecl::bench
