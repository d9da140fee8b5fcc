#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <type_traits>

#include "runtime/client/session/session.h"

namespace remotecl {

// Calls send(token), which sends a request with that token, and waits for its reply, a Report. Returns
// take(report), which copies what must outlive the received bytes. Empty if the server is lost. Any thread
// that may block.
template <class Report, class Send, class Take>
auto ask(Session& session, Send&& send, Take take) {
  using Taken = std::invoke_result_t<Take, const Report&>;
  struct Reply {
    std::atomic<bool> done{false};
    std::optional<Taken> taken;
  };
  const auto reply = std::make_shared<Reply>();
  const Token token = session.expect_reply([reply, take](std::uint16_t, const Bytes* payload) {
    Report report{};
    if (payload != nullptr && Decoder(*payload).read(report)) reply->taken = take(report);
    reply->done = true;
  });
  send(token);
  session.wait([&] { return reply->done.load(); });
  return reply->done ? std::move(reply->taken) : std::optional<Taken>();
}

}  // namespace remotecl
