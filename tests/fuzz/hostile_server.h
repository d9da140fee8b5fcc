#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/protocol/message_buffer.h"
#include "runtime/transport/tcp/tcp.h"
#include "support/records.h"

namespace remotecl::fuzz {

// A server on loopback that does the handshake of one client as it should, and then answers with the records of an
// input. One after the other, each up to the next of channel kControl, when a message comes that wants an answer; after
// the last one it hangs up. In a message of kControl the first number is that of what was asked (a token, transfer or
// event). Elsewhere small ids count from the client's first one, and 0 is its newest bulk read. A record of kHonest
// stands for right answers. Owned by the fuzzer's thread.
class HostileServer {
 public:
  HostileServer();
  Address address() const { return listener_.address(); }

  // Serves the next client. `first_id`: the smallest one that it may use.
  void serve(std::vector<Record> script, std::uint64_t first_id);
  // The client is gone, or the script has ended.
  void join();
  // What was said since serve(), as a script that says the same.
  const std::vector<Record>& said() const { return said_; }

 private:
  static constexpr std::uint64_t kSmallIdMax = 4096;

  void run();
  bool shake_hands(Connection& connection, Role role);
  // Reads what the client says, until it hangs up or the script has ended.
  void listen();
  // False when the script has ended, or the client is gone.
  bool answer(std::uint16_t code, Bytes payload);
  bool answer_honestly(const std::vector<Record>& answers);
  // `asked`: the number that the client's message wants an answer about.
  bool say(const Record& record, std::uint64_t asked);

  tcp::Listener listener_{{"127.0.0.1", 0}};
  std::vector<Record> script_;
  std::size_t next_ = 0;
  std::size_t honest_ = 0;  // answers to come
  std::vector<Record> said_;
  std::uint64_t first_id_ = 0;
  std::uint64_t last_read_ = 0;  // the transfer of the newest bulk read
  std::unique_ptr<Connection> control_, bulk_;
  std::thread thread_;
};

}  // namespace remotecl::fuzz
