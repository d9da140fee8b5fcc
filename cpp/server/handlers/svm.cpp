#include <algorithm>

#include "server/completion/completion_notifier.h"
#include "server/session/session.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Every allocation is a mapping of its own, of which a process has a limited number.
constexpr std::size_t kAllocationsMax = 1u << 14;

// Waits for all that was sent before it; then memory that kernels may have used can go away.
struct LetGoCommand {
  static constexpr bool kLong = false;
  static constexpr bool kAnswers = true;  // buffers would be kept until the session ends

  using Kept = std::list<KeptBuffers>;

  Session* session;
  Kept::iterator kept;

  void keep(Session&) {}
  cl_int issue(Issue& issue) {
    issue.enqueued = false;
    cl_event marker = nullptr;
    // What cannot be marked is kept until the session ends.
    if (issue.queue.mark(marker) != CL_SUCCESS) return CL_SUCCESS;
    CompletionNotifier::notify(marker, *session, [session = Ref<Session>(session), kept = kept](cl_int) {
      session->later([session, kept] { session->let_go(kept); });
    });
    clReleaseEvent(marker);
    session->issuer().touch(issue.queue);
    return CL_SUCCESS;
  }
};

}  // namespace

void Session::handle(const AllocateSvm& message) {
  SvmRequest request{{}, message.flags, message.size, message.alignment, message.address};
  for (std::size_t i = 0; i < message.devices.size(); ++i) request.devices.push_back(&device(message.devices[i]));
  if (svm_.size() >= kAllocationsMax) {
    outbox_.add(SvmAllocated{message.token, CL_OUT_OF_RESOURCES, 0});
    return;
  }
  Ref<SvmMemory> memory;
  const cl_int error = SvmMemory::allocate(request, counters_, memory);
  std::uint64_t address = 0;
  if (error == CL_SUCCESS) {
    address = memory->address();
    const auto buffer = make_ref<Buffer>(std::move(memory), message.flags, message.size, counters_);
    if (!buffers_.insert(message.buffer, buffer)) {
      throw ProtocolError("buffer id " + std::to_string(message.buffer) + " cannot be used or is in use");
    }
    svm_.emplace(address, buffer);
  }
  outbox_.add(SvmAllocated{message.token, error, address});
}

void Session::handle(const SetKernelSvm& message) {
  Kernel* kernel = kernels_.find(message.kernel);
  if (kernel == nullptr) return;  // its commands will say so
  // Three of each: of the kernel, of the command that uses it first, and of the driver.
  HeldMemory held(counters_, sizeof(SvmPointers) + 3 * sizeof(void*) * std::uint64_t{message.pointers.size()});
  auto list = std::make_shared<SvmPointers>(std::move(held));
  for (std::size_t i = 0; i < message.pointers.size(); ++i) {
    Buffer* buffer = find_svm(message.pointers[i]);
    if (buffer == nullptr) continue;
    list->pointers.push_back(reinterpret_cast<void*>(message.pointers[i]));
    list->buffers.emplace_back(buffer);
  }
  kernel->set_svm(std::move(list));
}

Buffer* Session::find_svm(std::uint64_t address) const {
  auto after = svm_.upper_bound(address);
  if (after == svm_.begin()) return nullptr;
  Buffer& buffer = *std::prev(after)->second;
  return buffer.svm()->contains(address) ? &buffer : nullptr;
}

// Kernels got its address, so no driver knows who still uses the memory.
void Session::release_svm(Ref<Buffer> buffer) {
  const auto known = svm_.find(buffer->svm()->address());
  if (known != svm_.end() && known->second == buffer) svm_.erase(known);
  queues_.for_each([&](Queue& queue) {
    if (buffer->svm()->usable_on(queue.device())) keep_svm(queue, {buffer});
  });
}

void Session::keep_svm(Queue& queue) {
  std::vector<Ref<Buffer>> all;
  for (const auto& [address, buffer] : svm_) {
    if (buffer->svm()->usable_on(queue.device())) all.push_back(buffer);
  }
  if (!all.empty()) keep_svm(queue, std::move(all));
}

void Session::keep_svm(Queue& queue, std::vector<Ref<Buffer>> buffers) {
  if (queue.native() == nullptr) return;
  HeldMemory held(counters_, sizeof(KeptBuffers) + buffers.size() * sizeof buffers.front());
  letting_go_.push_front({std::move(buffers), std::move(held)});
  issuer_.submit(queue, nullptr, {}, LetGoCommand{this, letting_go_.begin()}, true);
}

void Session::let_go(std::list<KeptBuffers>::iterator kept) { letting_go_.erase(kept); }

}  // namespace remotecl::server
