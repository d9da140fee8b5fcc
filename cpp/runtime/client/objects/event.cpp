#include "runtime/client/objects/event.h"

#include <algorithm>

namespace remotecl {

namespace {

// How long a question about an event waits for the server. Python's lock may be held meanwhile.
constexpr std::chrono::milliseconds kStatusWait{200};
// The same once the event has to have ended.
constexpr std::chrono::milliseconds kEndWait{2000};

}  // namespace

Event::Event(Ref<Context> context)
    : context_(std::move(context)), on_server_(false), sequence_(0), description_{CL_COMMAND_USER}, end_(CL_SUBMITTED) {
  context_->user_event_opened();
}

Event::Event(CommandQueue& queue, cl_command_type type, bool on_server, bool aside)
    : context_(&queue.context()),
      queue_(&queue),
      on_server_(on_server),
      sequence_(aside ? 0 : queue.next_sequence()),
      description_{type, queue.profiling() ? host_time_ns() : 0},
      end_(CL_QUEUED) {
  if (on_server && !queue.session().register_event(id_, *this, *this)) complete(CL_DEVICE_NOT_AVAILABLE);
}

Event::~Event() {
  if (is_user_event() && !end_.is_over()) context_->user_event_closed();
  if (!on_server_) return;
  queue_->session().unregister_event(id_);
  if (!leaves_release_.load()) queue_->session().send(ReleaseEvent{id_});
}

cl_int Event::status() const {
  const cl_int status = end_.status();
  if (status > CL_COMPLETE && on_server_ && sequence_ != 0 && !end_.is_held() &&
      queue_->finished_sequence() >= sequence_) {
    return end_.outcome();
  }
  return status;
}

cl_int Event::poll_status() {
  const cl_int known = status();
  if (known <= CL_COMPLETE || session() == nullptr) return known;
  const std::uint64_t ends = CommandQueue::telling_ends();
  const bool may_be_late = asked_at_.load() != ends;
  if (observed_.exchange(true) && !may_be_late) {
    session()->poll();
  } else {
    // The first call asks the server; later ones rely on its report, unless the end of what may have waited for this
    // event is known before. A server that is far behind may take long.
    session()->send(ObserveEvent{id_});
    const auto deadline = std::chrono::steady_clock::now() + (may_be_late ? kEndWait : kStatusWait);
    if (session()->round_trip_us(deadline) >= 0) asked_at_.store(ends);
  }
  const cl_int now = status();
  return now == CL_QUEUED ? CL_SUBMITTED : now;
}

cl_int Event::wait() {
  wait_until({});
  return status();
}

bool Event::wait_until(const OptionalDeadline& deadline) {
  Session* const server = session();
  if (ended()) {
    if (server != nullptr) server->show_output();
    return true;
  }
  if (server != nullptr) {
    if (!observed_.exchange(true)) server->append(ObserveEvent{id_});
    // A lost session ends its events after the transfers of their bytes.
    if (!server->wait([this] { return ended(); }, deadline) && !server->lost()) return false;
  }
  context_->group().submitter.submit_all();
  return ended() || end_.wait(deadline);
}

bool Event::wait_in_call(const void* wanted) {
  if (wait_until(wanted == nullptr ? OptionalDeadline() : WaitLimit::deadline())) return true;
  leave_unended();
  return false;
}

void Event::leave_unended() {
  WaitLimit::note(WaitLimit::kInUse);
  report_is_awaited(false);  // otherwise the bytes of a read would be received only when somebody waits again
}

void Event::observe() {
  if (!on_server_ || observed_.exchange(true)) return;
  queue_->session().send(ObserveEvent{id_});
}

void Event::report_is_awaited(bool is_hurried) {
  if (is_hurried) observed_.store(true);
  listeners_.keep_event();
}

void Event::hurry() {
  if (session() == nullptr) return;
  observe();
  session()->submit_now();
}

// Returns false if it was reported before.
bool Event::report(cl_int status, const EventEnd::Profile* profile) {
  if (!end_.claim_report()) return false;
  if (queue_) queue_->end_becomes_known();
  if (status < CL_COMPLETE && is_of_runtime_) queue_->command_failed(status);
  if (status >= CL_COMPLETE && on_server_) {
    queue_->in_order() ? queue_->finished_through(sequence_) : queue_->ended(sequence_);
  }
  if (end_.report(status, profile)) finish();
  return true;
}

void Event::finish() {
  if (is_user_event()) context_->user_event_closed();
  listeners_.notify(end_.status());
}

void Event::complete(cl_int status, const EventEnd::Profile* profile) { report(status, profile); }

void Event::refuse(cl_int status) {
  if (!end_.is_reported()) unbegun_.store(Unbegun::kRefused, std::memory_order_release);
  report(status, nullptr);
}

void Event::add_gates_to(Gates& gates) {
  const auto add = [&gates](Event& gate) {
    if (gate.status() == CL_COMPLETE || std::ranges::find(gates, &gate, &Ref<Event>::get) != gates.end()) return;
    gates.emplace_back(&gate);
  };
  if (is_user_event()) return add(*this);
  if (!gates_ || status() == CL_COMPLETE) return;
  for (const Ref<Event>& gate : *gates_) add(*gate);
}

void Event::lose() {
  const bool was_reported = end_.is_reported();
  const auto is_unset = [](const Ref<Event>& gate) { return !gate->ended(); };
  if (!was_reported && gates_ && std::ranges::any_of(*gates_, is_unset)) {
    unbegun_.store(Unbegun::kLost, std::memory_order_release);
  }
  complete(ended() ? status() : CL_DEVICE_NOT_AVAILABLE);
  if (!was_reported && end_.lose()) finish();  // even if bytes of other servers are missing
  listeners_.signal_for_lost_server(end_.status());
}

void Event::release_hold(cl_int status) {
  if (end_.release_hold(status)) finish();
}

bool Event::at_end(std::function<void()> function) {
  if (!listeners_.add(std::move(function))) return false;
  observe();
  return true;
}

void Event::add_callback(const EventListeners::Callback& callback) {
  if (listeners_.add(callback)) hurry();
}

bool Event::profile(EventEnd::Profile& times) {
  if (times_) return (*times_)(times);
  if (Session* server = session()) {
    observe();
    server->wait([this] { return end_.is_reported(); });
  }
  const EventEnd::Profile* const profile = end_.profile();
  if (profile == nullptr) return false;
  const std::uint64_t offset_ns = queue_->device().clock_offset_ns();
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = (*profile)[i] + offset_ns;
  // "the current device time counter in nanoseconds when the command identified by event is enqueued in a command-queue
  // by the host": that happened in this process. The server's driver may have received the command much later.
  times[0] = std::min(description_.enqueued_ns, times[1]);
  return true;
}

void Event::announce_to(Session& other, bool by_server) {
  if (listeners_.announce_to(other, by_server)) hurry();
}

bool Event::set_user_status(cl_int status) { return report(status, nullptr); }

}  // namespace remotecl
