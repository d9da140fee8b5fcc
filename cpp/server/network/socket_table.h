#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "server/network/kernel_names.h"
#include "server/network/kernel_socket.h"
#include "server/network/network.h"
#include "server/network/opener.h"
#include "server/network/wake_list.h"

namespace remotecl::server {

// The sockets of a network, and what kernels ask of them. Owned by the proxy thread.
class SocketTable {
 public:
  using Clock = KernelSocket::Clock;

  // `epoll`: reports with the numbers that handle_event() takes.
  SocketTable(std::byte* memory, const NetworkShape& shape, const Network::Hooks& hooks, Ref<WakeList> wakes,
              int epoll);
  ~SocketTable();
  SocketTable(const SocketTable&) = delete;
  SocketTable& operator=(const SocketTable&) = delete;

  // Takes requests, moves bytes, and frees what has been closed. `moves`: bytes may be moved now. Returns whether there
  // was anything to do.
  bool work(Clock::time_point now, bool moves);
  void handle_event(std::uint64_t socket, std::uint32_t events);
  // Ends all waits.
  void stop();

  std::size_t in_use() const { return in_use_.size(); }
  bool has_closing() const { return closing_ != 0; }
  std::uint64_t opened() const { return opened_; }
  std::uint64_t bytes_sent = 0, bytes_received = 0;

 private:
  static std::uint64_t number(std::uint32_t index, std::uint32_t generation) {
    return std::uint64_t{generation} << 32 | index;
  }
  // Null if the number is of a socket that is closed.
  KernelSocket* find(std::uint64_t number);
  std::uint64_t number_of(std::uint32_t index) const { return number(index, sockets_[index].generation()); }

  void take_request(std::uint32_t index, std::uint32_t request, Clock::time_point now);
  void begin(std::uint32_t index, std::uint32_t operation);
  void open(std::uint32_t index, Opener::What what);
  void open_name(std::uint32_t index, Opener::What what, const SocketAddress& address, std::uint32_t backlog);
  void resolve(std::uint32_t index);
  void take_wakes();
  void accept(std::uint32_t index);
  std::optional<SocketAddress> address_of(const KernelSocket& socket) const;
  void take_results();
  void finish(Opener::Result& result);
  void give_connections(std::uint32_t listener);
  bool give_connection(KernelSocket::Listening& listening, std::uint32_t acceptor);
  // Reports on the descriptor as readiness of the socket. Returns false if the system refuses.
  bool watch(const Descriptor& descriptor, std::uint32_t index);
  void ends_connecting(std::uint32_t index);
  bool count(KernelSocket& socket);
  void release(std::uint32_t index);
  void stop_listening(KernelSocket& socket);
  std::unique_ptr<KernelSocket::Listening> take_listening(KernelSocket& socket);

  const Network::Hooks hooks_;
  const Ref<WakeList> wakes_;
  const int epoll_;
  Opener opener_;
  std::byte* const requests_;         // the kernels' counts of requests, densely
  std::vector<std::uint32_t> taken_;  // of these
  std::vector<KernelSocket> sockets_;
  std::vector<std::uint32_t> in_use_;
  std::size_t closing_ = 0;
  std::uint64_t opened_ = 0;
};

}  // namespace remotecl::server
