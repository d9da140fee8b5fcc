#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "extras/kernel_sockets/space/datagram_endpoint.h"
#include "extras/kernel_sockets/space/endpoint.h"
#include "extras/kernel_sockets/space/pipe_listener.h"
#include "extras/kernel_sockets/space/slot_words.h"
#include "runtime/base/ref_counted.h"
#include "server/util/descriptor.h"

namespace remotecl::server {

// The host's side of one socket of kernels: its rings, its endpoint, and the state that it publishes to the kernels. It
// keeps its own copy of that state and never reads it back from shared memory. Owned by its lane.
class KernelSocket {
 public:
  enum class Phase : std::uint8_t { kFree, kOpening, kConnecting, kAccepting, kListening, kOpen, kFailed };
  using Clock = std::chrono::steady_clock;

  KernelSocket(const SlotWords& words, std::uint32_t ring_bytes);

  const SlotWords& words() const { return words_; }
  Phase phase() const { return phase_; }
  std::uint32_t generation() const { return generation_; }
  bool is_closing() const { return is_closing_; }

  // Called before a request's arguments are read. `number`: the kernel's count of requests.
  void take_request(std::uint32_t number) { taken_ = number; }
  // Answers the request, so that the kernel may post the next one.
  void reply(std::int32_t value);

  // From now on waits for another thread to open it, or for a connection from a listener.
  void wait(Phase phase) { phase_ = phase; }
  // A connection is being made.
  void connect_with(Descriptor socket);
  const Descriptor& descriptor() const { return descriptor_; }
  Descriptor take_descriptor() { return std::move(descriptor_); }
  void open(std::unique_ptr<Endpoint> endpoint);
  void open_datagrams(Descriptor socket, std::uint16_t port);
  DatagramEndpoint* datagrams() const { return datagrams_; }
  void fail(int error);
  // The network ends: end_waits() first ends every wait of kernels, then stop() the socket.
  void end_waits() { set(layout::kStopped); }
  void stop();

  // What epoll reports on; -1 if there is none.
  int watched() const;
  // The endpoint may be ready again.
  void becomes_ready(bool to_read, bool to_write, bool hung_up);
  struct Bytes {
    std::uint32_t sent = 0, received = 0;
  };
  // Moves what can be moved. REQUIRES: phase() is kOpen.
  Bytes move(Clock::time_point now);
  // Fails it if its peer's machine has vanished.
  void look_for_peer();
  void shutdown() { wants_shutdown_ = true; }
  void close(Clock::time_point now);
  // Whether a closing socket has sent everything, or never will. REQUIRES: move() was called since close(), if phase()
  // is kOpen.
  bool has_drained(Clock::time_point now) const;
  // Whether the endpoint has yet to take something. REQUIRES: the same.
  bool has_unsent() const { return phase_ == Phase::kOpen && !cannot_send_ && send_ring_.filled() != 0; }
  // A rate limit has kept the bytes back for this time, which does not count against the peer.
  void was_kept_back(Clock::duration time) { moved_ += time; }
  // Frees the socket for the next kernel that wants one.
  void release();

  // A listener's part.
  struct Acceptor {
    std::uint64_t socket;  // of any lane
    bool may_wait;
  };
  struct Listening {
    Descriptor descriptor;
    Ref<PipeListener> pipes;  // in place of the descriptor
    std::string name;         // with pipes
    std::deque<Acceptor> acceptors;
    bool is_ready = true;  // there may be a connection
  };
  void listen(std::unique_ptr<Listening> listening, std::uint16_t port);
  Listening* listening() const { return listening_.get(); }
  std::unique_ptr<Listening> stop_listening() { return std::move(listening_); }
  void set_pending(bool has_some);

  // Whether it counts in the user's account.
  bool is_counted = false;
  // Whether the broker looks up where its datagrams go.
  bool is_resolving = false;

 private:
  // How long a closed socket's bytes wait for a peer that takes none.
  static constexpr std::chrono::seconds kLinger{30};

  void set(std::uint32_t bits) { words_.publish(layout::kState, state_ |= bits); }
  std::uint32_t send();
  std::uint32_t receive();

  const SlotWords words_;
  const std::uint32_t ring_bytes_;
  Phase phase_ = Phase::kFree;
  std::uint32_t generation_ = 1, state_ = 0, taken_ = 0;
  SendRing send_ring_;
  ReceiveRing receive_ring_;
  std::unique_ptr<Endpoint> endpoint_;
  DatagramEndpoint* datagrams_ = nullptr;  // the endpoint, if it is one
  Descriptor descriptor_;                  // of a connection that is being made
  std::unique_ptr<Listening> listening_;
  bool may_read_ = false, may_write_ = false;
  bool cannot_send_ = false, wants_shutdown_ = false, is_closing_ = false;
  Clock::time_point moved_;  // when the last bytes were sent
};

}  // namespace remotecl::server
