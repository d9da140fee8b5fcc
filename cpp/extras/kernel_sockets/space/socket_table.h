#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "extras/kernel_sockets/space/kernel_socket.h"
#include "extras/kernel_sockets/space/lane_group.h"
#include "extras/kernel_sockets/space/lane_message.h"

namespace remotecl::server {

// The sockets of a lane, and what kernels ask of them. Used by the thread that has the lane.
class SocketTable {
 public:
  using Clock = KernelSocket::Clock;

  SocketTable(LaneGroup& group, std::uint32_t lane);
  ~SocketTable();
  SocketTable(const SocketTable&) = delete;
  SocketTable& operator=(const SocketTable&) = delete;

  // Another thread has the lane from now on. `epoll` reports with the numbers that handle_event() takes.
  void join(int epoll, const Ref<WakeEvent>& event);
  void leave();
  // Takes requests, moves bytes, and frees what has been closed. `moves`: bytes may be moved now. Returns whether there
  // was anything to do.
  bool work(Clock::time_point now, bool moves);
  void handle_event(std::uint64_t socket, std::uint32_t events);
  std::uint32_t lane() const { return lane_; }
  bool has_letters() const { return !inbox_->is_empty(); }
  // Ends all waits of kernels. What they have sent still goes out with work(), but nothing is opened or freed any more.
  void end_waits();
  bool has_unsent() const;
  // Closes all sockets.
  void stop();

  bool has_closing() const { return closing_ != 0; }
  std::uint64_t bytes() const { return bytes_sent_ + bytes_received_; }
  // As of the last work(); any thread.
  SpaceStats stats() const { return {stats_[0], stats_[1], stats_[2], stats_[3]}; }

 private:
  // The number of a socket: its generation and its index in the network.
  std::uint64_t number_of(std::uint32_t index) const { return std::uint64_t{at(index).generation()} << 32 | index; }
  // The index in the network of a position in sockets_.
  std::uint32_t index_of(std::uint32_t position) const { return position * group_.size() + lane_; }
  // By the index in the network, which is of this lane.
  KernelSocket& at(std::uint32_t index) { return sockets_[index / group_.size()]; }
  const KernelSocket& at(std::uint32_t index) const { return sockets_[index / group_.size()]; }
  // Null if the number is of a socket that is closed.
  KernelSocket* find(std::uint64_t number);
  bool look_at_requests(Clock::time_point now);
  bool move_all(Clock::time_point now, bool moves);
  void look_for_peers(Clock::time_point now);
  void publish_stats();

  void take_request(std::uint32_t index, std::uint32_t request, Clock::time_point now);
  void begin(std::uint32_t index, std::uint32_t operation);
  void open(std::uint32_t index, Opener::What what);
  void open_name(std::uint32_t index, Opener::What what, const SocketAddress& address, std::uint32_t backlog);
  void resolve(std::uint32_t index);
  std::optional<SocketAddress> address_of(const KernelSocket& socket) const;
  void take_letters();
  void handle(BrokerReply& reply);
  void handle(NameFound& found);
  // Reports on the descriptor as readiness of the socket. Returns false if the system refuses.
  bool watch(int descriptor, std::uint32_t index);
  void ends_connecting(std::uint32_t index);
  bool count(KernelSocket& socket);
  void release(KernelSocket& socket);

  // Connections of listeners: socket_table_accept.cpp.
  void accept(std::uint32_t index);
  void deliver(std::uint64_t socket, LaneMessage message);
  void handle(const ConnectionWanted& wanted);
  void handle(ConnectionGiven& given);
  void give_connections(std::uint32_t listener);
  std::optional<ConnectionGiven> take_connection(const KernelSocket::Listening& listening, std::uint64_t acceptor);
  void stop_listening(KernelSocket& socket);
  std::unique_ptr<KernelSocket::Listening> take_listening(KernelSocket& socket);

  LaneGroup& group_;
  const std::uint32_t lane_;
  const Ref<Inbox> inbox_;
  int epoll_ = -1;
  std::vector<std::uint32_t> taken_;  // of the kernels' counts of requests
  std::vector<KernelSocket> sockets_;
  std::vector<std::uint32_t> in_use_;  // positions in sockets_
  std::size_t closing_ = 0;
  bool is_ending_ = false;
  Clock::time_point last_round_ = Clock::now(), looked_for_peers_ = last_round_;
  std::uint64_t opened_ = 0, bytes_sent_ = 0, bytes_received_ = 0;
  std::atomic<std::uint64_t> stats_[4]{};
};

}  // namespace remotecl::server
