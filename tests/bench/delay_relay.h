#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace remotecl::bench {

// Stands in front of a server, on a loopback port of its own, and passes every byte on in each direction after a delay,
// however many are on their way: a long line, not a slow one.
class DelayRelay {
 public:
  // `target`: "host:port", numeric.
  DelayRelay(const std::string& target, std::chrono::microseconds delay_each_way);
  ~DelayRelay();
  DelayRelay(const DelayRelay&) = delete;
  DelayRelay& operator=(const DelayRelay&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  using Clock = std::chrono::steady_clock;

  // One direction of a connection: a thread that reads, one that writes when it is time.
  struct Line {
    struct Piece {
      Clock::time_point due;
      std::vector<char> bytes;  // none: the end
    };
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Piece> pieces;
    std::thread reader, writer;
  };
  struct Connection {
    int near = -1, far = -1;
    Line forth, back;
  };

  void accept_all();
  void start(Line& line, int from, int to);
  void read(Line& line, int from) const;
  static void write(Line& line, int to);

  const std::string host_;
  const std::uint16_t target_port_;
  const std::chrono::microseconds delay_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::list<Connection> connections_;  // of the accepting thread, until it has ended
  std::thread acceptor_;
};

}  // namespace remotecl::bench
