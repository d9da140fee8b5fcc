#include "runtime/client/objects/command_queue.h"

#include "runtime/client/objects/event.h"

namespace remotecl {

CommandQueue::CommandQueue(Context& context, Device& device, cl_command_queue_properties properties,
                           std::vector<cl_queue_properties> property_list, bool internal)
    : context_(context),
      keep_context_(internal ? nullptr : &context),
      device_(device),
      keep_device_(&device),
      location_(device.is_automatic() ? 0 : context.location(device)),  // members have one each
      properties_(properties),
      property_list_(std::move(property_list)) {
  if (device.is_automatic()) {
    placement_ = AutomaticDevices::instance()->make_placement(*this);
    return;
  }
  create_on_server(properties);
  if (!internal) context.queue_made(*this);
}

CommandQueue::CommandQueue(CommandQueue& whole, Device& device)
    : context_(whole.context_),
      whole_(&whole),
      device_(device),
      keep_device_(&device),
      location_(context_.location(device)),
      properties_(whole.properties_) {
  // Placements learn from the times of some kernels.
  create_on_server(properties_ | CL_QUEUE_PROFILING_ENABLE);
  context_.queue_made(*this);
}

void CommandQueue::create_on_server(cl_command_queue_properties properties) {
  session().register_queue(id_, *this, *this);
  session().send(CreateQueue{id_, device_.index(), properties});
}

CommandQueue::~CommandQueue() {
  if (device_.is_automatic()) return;
  context_.returned_writes().gone(*this);
  session().unregister_queue(id_);
  for (const KeptEvents::Entry& kept : kept_events_.entries()) {
    if (kept.event != 0) session().append(ReleaseEvent{kept.event});
  }
  session().send(ReleaseQueue{id_});
  session().submit_now();
}

void CommandQueue::last_handle_released() {
  if (!placement_) learn_end();
  flush();
  placement_ ? placement_->let_go() : context_.returned_writes().released(*this);
}

cl_int CommandQueue::finish() {
  if (placement_) return placement_->finish();
  std::shared_ptr<std::atomic<bool>> finished;
  std::uint64_t last = 0;
  PendingReads::Ticket last_read = 0;  // other threads may read on
  {
    // No command may get an earlier position in the queue than the Finish and be sent after it.
    const MutexLock lock(context_.memory_mutex());
    last = last_sequence_.load();
    last_read = pending_reads_.last();
    finished = std::exchange(unfinished_, {}).answered_for(last);
    if (!finished) {
      finished = std::make_shared<std::atomic<bool>>(false);
      session().append(
          Finish{id_, session().expect_reply([finished](std::uint16_t, const Bytes*) { finished->store(true); })});
    }
  }
  const auto is_done = [&] {
    return finished->load(std::memory_order_acquire) && pending_reads_.ended_through(last_read);
  };
  const bool done = session().wait(is_done, WaitLimit::deadline());
  if (session().lost()) return CL_DEVICE_NOT_AVAILABLE;
  if (!done) {
    WaitLimit::note(WaitLimit::kInUse);
    const MutexLock lock(context_.memory_mutex());
    unfinished_ = {finished, last};
    return CL_SUCCESS;
  }
  end_becomes_known();
  finished_through(last);
  return take_failure();
}

void CommandQueue::learn_end() {
  const MutexLock lock(context_.memory_mutex());
  const std::uint64_t last = last_sequence_.load();
  if (ended_sequence() >= last) return;
  const auto ended = [finished = finished_sequence_, last](std::uint16_t, const Bytes* payload) {
    telling_ends_.fetch_add(1);
    if (payload != nullptr) raise(*finished, last);
  };
  session().send(Finish{id_, session().expect_reply(ended)});
}

void CommandQueue::raise(std::atomic<std::uint64_t>& known, std::uint64_t sequence) {
  std::uint64_t before = known.load();
  while (before < sequence && !known.compare_exchange_weak(before, sequence)) {
  }
}

Ref<Event> CommandQueue::keep_event(std::uint64_t sequence, EventId id, Event* event) {
  if (event != nullptr) event->leave_release_to_queue(true);
  const KeptEvents::Entry oldest = kept_events_.add({sequence, id});
  if (oldest.event == 0) return nullptr;
  const auto found = session().find_event(oldest.event);
  Ref<Event> held(static_cast<Event*>(found.sink));
  if (held) {
    held->leave_release_to_queue(false);
  } else {
    session().append(ReleaseEvent{oldest.event});
  }
  return held;
}

EventId CommandQueue::event_of(std::uint64_t sequence, Ref<Event>& holder) {
  if (const EventId kept = kept_events_.find(sequence); kept != 0) return kept;
  const Recent& command = recent(sequence);
  if (command.with_event != sequence) return 0;
  const auto found = session().find_event(command.event);
  holder = Ref<Event>(static_cast<Event*>(found.sink));
  return holder ? command.event : 0;
}

Ref<Event> CommandQueue::gated() {
  const auto found = session().find_event(gated_);
  Ref<Event> event(static_cast<Event*>(found.sink));
  if (event && !event->is_reported()) return event;
  gated_ = 0;
  return nullptr;
}

void CommandQueue::command_failed(cl_int status) {
  has_failed_.store(true, std::memory_order_release);
  cl_int none = CL_SUCCESS;
  failure_.compare_exchange_strong(none, status);
}

}  // namespace remotecl
