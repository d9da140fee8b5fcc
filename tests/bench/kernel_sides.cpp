#include "kernel_sides.h"

#include <poll.h>

#include <algorithm>
#include <stdexcept>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "extras/kernel_sockets/space/open_broker.h"
#include "kernel_sockets_kernels.h"
#include "measure.h"

namespace remotecl::bench {
namespace {

using server::Descriptor;
using server::KernelSocketSpace;
using testing::KernelRun;

constexpr std::size_t kAddresses = 4096, kSecondAddress = 2048;  // bytes of a kernel's memory

std::string tcp_address(std::uint16_t port) { return "tcp:127.0.0.1:" + std::to_string(port); }

void wait_for(const Descriptor& socket) {
  pollfd one{socket.get(), POLLIN, 0};
  const int wait_ms = 120'000;  // while the driver compiles, and while the kernels work
  if (::poll(&one, 1, wait_ms) != 1) throw std::runtime_error("the kernels are not ready");
}

// The connections over which the groups of a kernel say that they are ready, are told to begin, and say that they have
// finished: the kernel's start and its compilation are not part of what is measured.
class Starter {
 public:
  Starter() : listener_(testing::listen_on_loopback(port_)) {}

  std::uint16_t port() const { return port_; }
  double measure(std::size_t groups) {
    std::vector<Descriptor> sockets;
    for (std::size_t i = 0; i < groups; ++i) {
      wait_for(listener_);
      sockets.push_back(testing::accept_from(listener_));
    }
    for (const Descriptor& socket : sockets) hear(socket);
    const Stopwatch watch;
    for (const Descriptor& socket : sockets) testing::send_all(socket, "", 1);
    for (const Descriptor& socket : sockets) hear(socket);
    return watch.seconds();
  }

 private:
  static void hear(const Descriptor& socket) {
    char byte = 0;
    wait_for(socket);
    if (testing::receive_all(socket, &byte, 1) != 1) throw std::runtime_error("a kernel has ended early");
  }

  std::uint16_t port_ = 0;
  const Descriptor listener_;
};

void check_received(KernelRun& server, const Work& work) {
  const auto sent = static_cast<std::uint32_t>(work.size * work.messages * work.connections);
  if (work.mode == kReceive && static_cast<std::uint32_t>(server.numbers()[6]) != sent) {
    throw std::runtime_error("bytes are missing");
  }
}

}  // namespace

KernelSides::KernelSides(server::Device& device, const Options& options)
    : device_(device),
      options_(options),
      programs_{{device, kSocketKernels, "-DMODE=0 " + options.build},
                {device, kSocketKernels, "-DMODE=1 " + options.build},
                {device, kSocketKernels, "-DMODE=2 " + options.build}} {}

Ref<KernelSocketSpace> KernelSides::make_network(std::size_t sockets) const {
  using Rule = server::SpaceThreads::Rule;
  const KernelSocketSpace::Hooks hooks{
      .broker = make_ref<testing::OpenBroker>(),
      .threads = {options_.threads, options_.fixed_threads ? Rule::kFixed : Rule::kByLoad}};
  cl_int error = CL_SUCCESS;
  Ref<KernelSocketSpace> network = KernelSocketSpace::make(
      device_, {static_cast<std::uint32_t>(sockets), static_cast<std::uint32_t>(options_.ring)}, hooks, error);
  if (!network) throw std::runtime_error("no network: error " + std::to_string(error));
  return network;
}

std::size_t KernelSides::groups_for(const Work& work, std::size_t most) {
  std::size_t groups = std::clamp<std::size_t>(most, 1, work.connections);
  while (work.connections % groups != 0) --groups;
  return groups;
}

KernelRun KernelSides::serve(const Work& work, const Ref<KernelSocketSpace>& network, std::size_t groups,
                             const std::string& address) {
  const std::size_t each = work.connections / groups;
  return KernelRun(programs_[work.mode], network, each == 1 ? "serve" : "serve_many",
                   {static_cast<cl_int>(work.connections), static_cast<cl_int>(work.size), 0,
                    static_cast<cl_int>(work.messages), 0, 0, 0},
                   {.groups = groups,
                    .items = options_.items,
                    .scratch = kAddresses + groups * (work.size + 16 * each),
                    .text = address});
}

void KernelSides::finish(KernelRun& run, KernelSocketSpace& network) {
  if (!run.wait(std::chrono::seconds(20))) {
    network.stop();
    throw std::runtime_error("the kernel does not end");
  }
  if (const cl_int result = run.numbers()[5]; result < 0) {
    throw std::runtime_error("a call of the kernel failed with " + std::to_string(result));
  }
}

double KernelSides::serve_program(const Work& work, const Client& client) {
  const std::uint16_t port = free_port();
  const Ref<KernelSocketSpace> network = make_network(work.connections + 1);
  KernelRun run = serve(work, network, groups_for(work, options_.groups), tcp_address(port));
  double seconds = 0;
  try {
    std::vector<Descriptor> connections = connect_all(port, work.connections);
    seconds = client(connections);
    connections.clear();
  } catch (...) {
    network->stop();
    throw;
  }
  finish(run, *network);
  check_received(run, work);
  return seconds;
}

double KernelSides::serve_kernel(const Work& work, Meeting meeting) {
  const std::size_t groups = groups_for(work, options_.units / 2), each = work.connections / groups;
  const std::string address = meeting == Meeting::kTcp ? tcp_address(free_port()) : "rcl:bench";
  const Ref<KernelSocketSpace> network = make_network(2 * work.connections + 1 + groups);
  Starter starter;
  std::string text = address;
  text.resize(kSecondAddress);
  text += tcp_address(starter.port());
  KernelRun server = serve(work, network, groups, address);
  KernelRun client(programs_[work.mode], network, "talk",
                   {static_cast<cl_int>(work.connections), static_cast<cl_int>(work.size), 0,
                    static_cast<cl_int>(work.messages), 0, 0},
                   {.groups = groups,
                    .items = options_.items,
                    .scratch = kAddresses + groups * (work.size + 16 * each),
                    .text = text});
  double seconds = 0;
  try {
    seconds = starter.measure(groups);
  } catch (...) {
    network->stop();
    throw;
  }
  finish(client, *network);
  finish(server, *network);
  check_received(server, work);
  return seconds;
}

}  // namespace remotecl::bench
