#include "runtime/client/session/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include "runtime/client/session/owner_secret.h"
#include "runtime/client/session/report_handlers.h"
#include "runtime/client/session/trace_sink.h"
#include "runtime/client/support/ids.h"
#include "runtime/client/support/stderr_notice.h"

namespace remotecl {

Session::Session(SessionGroup& group, const ServerName& server, std::uint32_t index)
    : group_(group),
      index_(index),
      connection_(server, *this, group.submitter, loss_),
      transfers_(connection_.channels(), loss_),
      events_(loss_),
      queues_(loss_),
      replies_(loss_),
      reader_(connection_, loss_, *this) {
  reader_.start();
  try {
    group_.submitter.add(connection_.shared_writer());
    introduce();
    group_.operations.add(*this);
  } catch (...) {
    loss_.expect();
    lose("the session has not begun");
    reader_.join();  // the reader uses this
    throw;
  }
}

Session::~Session() {
  group_.operations.remove(*this);
  loss_.expect();
  lose("the session was closed");
  reader_.join();
}

// Lets people who look at the server see whose session this is, and the server know its owner.
void Session::introduce() {
  char host[kStatusTextMax + 1] = {};
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = 0;
  const std::string_view program(program_invocation_short_name);
  const std::optional<KeyPin>& key = connection_.key();
  send(Introduce{static_cast<std::uint64_t>(::getpid()), host, program.substr(0, kStatusTextMax),
                 static_cast<std::uint32_t>(connection_.window().count()),
                 owner_for(key ? pin_text(*key) : connection_.address().text())});
  submit_now();
}

double Session::round_trip_us(const OptionalDeadline& deadline) {
  const auto begin = std::chrono::steady_clock::now();
  auto answered = std::make_shared<std::atomic<bool>>(false);
  send(Ping{expect_reply([answered](std::uint16_t, const Bytes*) { answered->store(true); })});
  if (!wait([&] { return answered->load(); }, deadline) || lost()) return -1;
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}

bool Session::wait(const std::function<bool()>& done, const OptionalDeadline& deadline) {
  flush();
  group_.submitter.submit_all();
  const bool ok = reader_.wait(done, deadline);
  if (!reader_.is_reading()) show_output();  // otherwise this is a callback of a transfer
  return ok;
}

void Session::stop_sending_from(const std::byte* memory, std::uint64_t size) {
  const std::vector<TransferRef> transfers = transfers_.copy_pending(memory, size);
  if (transfers.empty()) return;
  wait([&transfers] { return std::ranges::all_of(transfers, [](const TransferRef& each) { return each->ended(); }); });
  for (const TransferRef& transfer : transfers) transfer->channel->sender().await_chunk();
}

bool Session::await(const ClientTransfer& transfer) {
  return wait([&transfer] { return transfer.ended(); });
}

bool Session::await_reply(const ClientTransfer& transfer) {
  return wait([&transfer] { return transfer.offer->is_answered() || transfer.ended(); });
}

void Session::offer(const OfferChunks& message) {
  send(message);
  submit_now();
}

void Session::wait_for_room() {
  if (reader_.is_reading()) return;  // this thread itself must read what makes room
  wait([this] { return !connection_.is_crowded(); });
}

bool Session::read_control() {
  const ReportContext context{*this, connection_, transfers_, replies_, events_, queues_, kernel_text_, loads_};
  return connection_.read_control(
      [&context](std::uint16_t code, Bytes payload) { dispatch_report(context, code, payload); });
}

// Adds no interest in reading: a program that blocks often reads by itself, and the background thread reads 40 ms
// later than that at most. A thread that always reads would cost every blocking call a hand-off.
void Session::watch_loads(LoadSink* sink) {
  loads_.set(sink);
  send(WatchLoads{sink != nullptr ? 1u : 0u});
  submit_now();
}

void Session::acknowledge(const ClientReceived& message) {
  send(message);
  submit_now();
}

void Session::expect_shutdown() {
  loss_.expect();
  connection_.end_when_broken();
}

void Session::leave() {
  show_output();
  if (lost()) return;
  if (!connection_.is_resumable()) return connection_.writer().submit_now();
  expect_shutdown();
  connection_.writer().send_last(Leave{});
}

void Session::close() {
  expect_shutdown();
  leave();
  lose("this program has closed the connection");
}

// Nothing is added to the tables once the session is lost: each checks that under its own lock.
void Session::lose(const std::string& reason) {
  if (!loss_.lose(reason, [this] { connection_.shutdown(); })) return;
  if (!loss_.is_expected()) {
    notice("lost " + address().text() + ": " + reason + "; its devices are not available any more");
  }
  const std::vector<TransferRef> transfers = transfers_.all();
  const auto events = events_.all();
  const std::vector<Reply> replies = replies_.take_all();
  for (const TransferRef& transfer : transfers) transfers_.end(transfer, CL_DEVICE_NOT_AVAILABLE);
  for (const auto& event : events) event->lose();
  for (const Reply& reply : replies) reply(0, nullptr);
  group_.links.lost(*this);
  loss_.settle();
  if (TraceSink* const trace = TraceSink::current()) trace->lost();
  reader_.end_waits();
}

void Session::release() {
  group_.submitter.remove(connection_.writer());
  connection_.release();
}

}  // namespace remotecl
