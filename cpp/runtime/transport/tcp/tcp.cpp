#include "runtime/transport/tcp/tcp.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <asio.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "runtime/transport/passing_failure.h"
#include "runtime/transport/tcp/operator_socket.h"

namespace remotecl::tcp {
namespace {

using Socket = asio::ip::tcp;

// The cause and the remedy.
std::string failure(const Address& address, const std::error_code& error) {
  if (error == asio::error::connection_refused) {
    return address.text() +
           " refused the connection; is remotecl-server running there, on this port, and with --listen on an address "
           "that other machines reach? Without --listen it is on loopback";
  }
  if (error == asio::error::timed_out) {
    return address.text() + " does not answer; is the machine up, and does a firewall let this port through?";
  }
  std::string remedy = "check the address and the network";
  if (error == asio::error::no_descriptors || error == std::errc::too_many_files_open_in_system) {
    remedy = "raise the limit (ulimit -n), or close files";
  }
  if (error == asio::error::no_memory || error == asio::error::no_buffer_space)
    remedy = "this machine has no memory left";
  if (error == asio::error::host_unreachable || error == asio::error::network_unreachable) {
    remedy = "is this machine's network up, and is there a route to the server?";
  }
  return "cannot connect to " + address.text() + " (" + error.message() + "); " + remedy;
}

Socket::endpoint endpoint_of(const Address& number) { return {asio::ip::make_address(number.host), number.port}; }

}  // namespace

std::unique_ptr<StreamConnection> connect(const Address& address, std::chrono::milliseconds timeout) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  std::vector<Socket::endpoint> endpoints;
  for (const Address& each : resolve(address, timeout)) endpoints.push_back(endpoint_of(each));
  asio::io_context io;
  Socket::socket socket(io);
  std::error_code error = asio::error::timed_out;
  for (const Socket::endpoint& endpoint : endpoints) {
    socket.close();
    socket.open(endpoint.protocol(), error);  // async_connect() would not say what is short
    if (error) continue;
    socket.async_connect(endpoint, [&error](const std::error_code& result) { error = result; });
    io.restart();
    io.run_until(end);
    if (!io.stopped()) {  // still connecting; closing the socket ends the operation
      socket.close();
      io.run();
      error = asio::error::timed_out;
    }
    if (!error || error == asio::error::timed_out) break;
  }
  const bool is_broken = error == asio::error::connection_reset || error == asio::error::connection_aborted;
  if (is_broken) throw BrokenConnection(failure(address, error));
  if (error) throw ConnectionError(failure(address, error));
  socket.non_blocking(false);
  socket.native_non_blocking(false);
  return adopt(socket.release());
}

std::unique_ptr<StreamConnection> adopt(int descriptor, TransportKind kind) {
  // A program that has closed its standard streams may still write to their descriptors.
  if (descriptor <= STDERR_FILENO) {
    const int higher = ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (higher >= 0) ::close(std::exchange(descriptor, higher));
  }
  const int on = 1;
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  try {
    return std::make_unique<StreamConnection>(descriptor, kind);
  } catch (...) {  // no memory
    ::close(descriptor);
    throw;
  }
}

namespace {

// For looking up the daemon's own name when it starts.
constexpr std::chrono::milliseconds kNameTimeout{5000};
// Pauses after running out of descriptors: long enough to cost nothing, short enough that clients do not
// notice.
constexpr std::chrono::milliseconds kFirstPause{10}, kLongestPause{500};
constexpr std::chrono::milliseconds kPatience{3000};  // until a connection that cannot be accepted is refused
constexpr int kBacklog = 128;

ConnectionError cannot_listen(const Address& address, const std::error_code& why) {
  std::string remedy = "choose an address of this machine";
  if (why == asio::error::address_in_use) remedy = "another program uses the port; stop it or choose another port";
  if (why == asio::error::access_denied) remedy = "ports below 1024 need root; choose a higher one";
  return ConnectionError("cannot listen on " + address.text() + " (" + why.message() + "); " + remedy);
}

// Whether resources ran out, as opposed to a connection that its peer has given up meanwhile.
bool is_want_of_resources(const std::error_code& error) {
  const int number = error.value();
  return number == EMFILE || number == ENFILE || number == ENOBUFS || number == ENOMEM;
}

}  // namespace

Address resolve_local(const Address& address) {
  try {
    return resolve(address, kNameTimeout, Purpose::kListen).front();
  } catch (const ConnectionError& error) {
    throw ConnectionError("cannot listen on " + address.text() + ": " + error.what());
  }
}

struct Listener::State {
  explicit State(int socket) : socket(socket) {}
  ~State() {
    ::close(socket);
    ::close(closing);
    if (spare >= 0) ::close(spare);
  }
  void keep_spare() {
    if (spare < 0) spare = ::fcntl(closing, F_DUPFD_CLOEXEC, 0);
  }

  const int socket;
  const int closing = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int spare = -1;  // is given up for a connection that must be refused
  Address address;
};

Listener::Listener(std::unique_ptr<State> state) : state_(std::move(state)) {}

Listener::Listener(const Address& address) {
  std::error_code error;
  const auto fail = [&address](const std::error_code& why) { throw cannot_listen(address, why); };
  const Socket::endpoint endpoint = endpoint_of(resolve_local(address));
  asio::io_context io;
  Socket::acceptor acceptor(io);
  if (acceptor.open(endpoint.protocol(), error)) fail(error);
  ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  acceptor.set_option(Socket::acceptor::reuse_address(true), error);
  if (acceptor.bind(endpoint, error)) fail(error);
  if (acceptor.listen(kBacklog, error)) fail(error);
  const auto bound = acceptor.local_endpoint();
  state_ = std::make_unique<State>(acceptor.release());
  state_->address = {bound.address().to_string(), bound.port()};
}

std::unique_ptr<Listener> Listener::for_operators(std::uint16_t port) {
  const operator_socket::Name name = operator_socket::name_of(port);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw std::system_error(errno, std::system_category(), "socket");
  auto state = std::make_unique<State>(descriptor);
  state->address = {"127.0.0.1", 0};
  if (::bind(descriptor, reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0 ||
      ::listen(descriptor, kBacklog) != 0) {
    throw std::system_error(errno, std::system_category(), "bind");
  }
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

Address peer_address(const Connection& connection) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = {};
  char port[NI_MAXSERV] = {};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(connection.wait_handle(), generic, &size) != 0) return {};
  if (address.ss_family == AF_UNIX) return {"127.0.0.1", 0};
  if (::getnameinfo(generic, size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host, static_cast<std::uint16_t>(std::stoi(port))};
}

Listener::~Listener() = default;

Address Listener::address() const { return state_->address; }

std::unique_ptr<StreamConnection> Listener::accept(const Trouble& trouble) {
  auto pause = kFirstPause;
  for (auto waited = kFirstPause;;) {
    state_->keep_spare();
    pollfd waits[2] = {{state_->socket, POLLIN, 0}, {state_->closing, POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0 && errno != EINTR) return nullptr;
    if (waits[1].revents != 0) return nullptr;
    if (waits[0].revents == 0) continue;
    const int accepted = ::accept4(state_->socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted >= 0) return adopt(accepted);
    const std::error_code error(errno, std::system_category());
    if (trouble && is_want_of_resources(error)) {
      const bool is_late = waited >= kPatience && state_->spare >= 0;
      if (is_late) ::close(std::exchange(state_->spare, -1));
      const int refused = is_late ? ::accept4(state_->socket, nullptr, nullptr, SOCK_CLOEXEC) : -1;
      trouble(error, refused >= 0 ? adopt(refused).get() : nullptr);
      if (refused >= 0) continue;
    }
    // Keeps listening for later connections, without a busy loop.
    pollfd closing{state_->closing, POLLIN, 0};
    ::poll(&closing, 1, static_cast<int>(pause.count()));
    waited += pause;
    pause = std::min(2 * pause, kLongestPause);
  }
}

void Listener::close() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(state_->closing, &one, sizeof one);
}

}  // namespace remotecl::tcp
