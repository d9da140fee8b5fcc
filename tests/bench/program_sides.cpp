#include "program_sides.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "measure.h"

namespace remotecl::bench {
namespace {

using server::Descriptor;

// Runs a function for each connection, each on a thread, and rethrows what any of them threw. Returns the seconds.
double for_each_connection(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(count);
  const Stopwatch watch;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = watch.seconds();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return seconds;
}

Descriptor connect_soon(std::uint16_t port) {
  for (int tries = 0;; ++tries) {
    try {
      return testing::connect_to(port);
    } catch (const std::system_error&) {
      if (tries > 12000) throw;  // while the driver compiles
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

void serve_one(const Descriptor& socket, const Work& work) {
  std::vector<std::uint8_t> data(work.size);
  if (work.mode == kSend) {
    for (std::size_t i = 0; i < work.messages; ++i) testing::send_all(socket, data.data(), data.size());
    ::shutdown(socket.get(), SHUT_WR);
  } else if (work.mode == kEcho) {
    while (testing::receive_all(socket, data.data(), data.size()) == data.size()) {
      testing::send_all(socket, data.data(), data.size());
    }
  } else {
    while (::recv(socket.get(), data.data(), data.size(), 0) > 0) {
    }
  }
}

}  // namespace

std::uint16_t free_port() {
  std::uint16_t port = 0;
  const Descriptor socket = testing::listen_on_loopback(port);
  return port;
}

std::vector<Descriptor> connect_all(std::uint16_t port, std::size_t count) {
  std::vector<Descriptor> sockets;
  for (std::size_t i = 0; i < count; ++i) sockets.push_back(connect_soon(port));
  return sockets;
}

double run_program(const Work& work, const Client& client) {
  std::uint16_t port = 0;
  const Descriptor listener = testing::listen_on_loopback(port);
  std::thread server([&] {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < work.connections; ++i) {
      threads.emplace_back([&work, socket = testing::accept_from(listener)] { serve_one(socket, work); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::vector<Descriptor> connections = connect_all(port, work.connections);
  const double seconds = client(connections);
  connections.clear();
  server.join();
  return seconds;
}

double send_messages(std::vector<Descriptor>& sockets, const Work& work) {
  return for_each_connection(sockets.size(), [&](std::size_t i) {
    std::vector<std::uint8_t> data(work.size);
    for (std::size_t m = 0; m < work.messages; ++m) testing::send_all(sockets[i], data.data(), data.size());
    ::shutdown(sockets[i].get(), SHUT_WR);
    testing::receive_until_end(sockets[i]);
  });
}

double receive_messages(std::vector<Descriptor>& sockets, const Work& work) {
  return for_each_connection(sockets.size(), [&](std::size_t i) {
    std::vector<std::uint8_t> data(std::max<std::size_t>(work.size, 65536));
    std::size_t total = 0;
    while (const std::size_t came = testing::receive_all(sockets[i], data.data(), data.size())) total += came;
    if (total != work.size * work.messages) throw std::runtime_error("bytes are missing");
  });
}

double ping(std::vector<Descriptor>& sockets, const Work& work, std::vector<std::vector<double>>& samples) {
  samples.assign(sockets.size(), {});
  return for_each_connection(sockets.size(), [&](std::size_t i) {
    const std::vector<std::uint8_t> data = testing::pattern(work.size, static_cast<std::uint32_t>(i));
    std::vector<std::uint8_t> back(work.size);
    for (std::size_t m = 0; m < work.messages; ++m) {
      const Stopwatch watch;
      testing::send_all(sockets[i], data.data(), data.size());
      if (testing::receive_all(sockets[i], back.data(), back.size()) != back.size()) {
        throw std::runtime_error("the server has closed the connection");
      }
      samples[i].push_back(watch.seconds());
      if (back != data) throw std::runtime_error("other bytes came back than were sent");
    }
    ::shutdown(sockets[i].get(), SHUT_WR);
  });
}

}  // namespace remotecl::bench
