#include <algorithm>

#include "server/completion/completion_notifier.h"
#include "server/handlers/handlers.h"
#include "server/handlers/svm.h"
#include "server/util/log.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Every allocation is a separate mapping, and a process may have a limited number of mappings.
constexpr std::size_t kAllocationsMax = 1u << 14;
// Commands that need a buffer of this size fail, as for want of memory.
constexpr std::uint64_t kImpossibleSize = ~std::uint64_t{0};

// Waits for everything sent before it; then memory that kernels may have used can be freed.
struct ReleaseCommand {
  static constexpr bool kLong = false;
  static constexpr bool kReplies = true;  // if it failed, the buffers would be kept until the session ends

  using Kept = std::list<KeptBuffers>;

  Session* session;
  Kept::iterator kept;

  cl_int issue(Issue& issue) REQUIRES(session_lock) {
    issue.enqueued = false;
    Native<cl_event> marker;
    // Without a marker, the memory is kept until the session ends.
    if (issue.queue.mark(marker) != CL_SUCCESS) return CL_SUCCESS;
    session->completions().notify(marker.get(), [session = Ref<Session>(session), kept = kept](cl_int) {
      session->later([session, kept]() REQUIRES(session_lock) { session->objects().releasing.erase(kept); });
    });
    session->issuer().touch(issue.queue);
    return CL_SUCCESS;
  }
};

}  // namespace

void handle(Session& session, const AllocateSvm& message) {
  SvmRequest request{{}, message.flags, message.size, message.alignment, message.address};
  for (std::size_t i = 0; i < message.devices.size(); ++i)
    request.devices.push_back(&session.objects().device(message.devices[i]));
  Ref<SvmMemory> memory;
  const bool is_full = session.objects().svm.size() >= kAllocationsMax;
  const cl_int error = is_full ? CL_OUT_OF_RESOURCES : SvmMemory::allocate(request, session.counters(), memory);
  const bool is_answered = message.token != 0;
  const std::uint64_t address = memory ? memory->address() : 0;
  Ref<Buffer> buffer;
  if (memory) {
    buffer = make_ref<Buffer>(std::move(memory), message.flags, message.size, session.counters());
  } else if (!is_answered) {
    buffer = make_ref<Buffer>(message.flags, kImpossibleSize, session.counters());
    log_info("shared memory of {} bytes cannot be had at the address that the client proposes (error {})", message.size,
             error);
  }
  if (buffer && !session.objects().buffers.insert(message.buffer, buffer)) {
    throw ProtocolError("buffer id " + std::to_string(message.buffer) + " cannot be used or is in use");
  }
  if (error == CL_SUCCESS) session.objects().svm.emplace(address, std::move(buffer));
  if (is_answered) session.outbox().add(SvmAllocated{message.token, error, address});
}

void handle(Session& session, const SetKernelSvm& message) {
  Kernel* kernel = session.objects().kernels.find(message.kernel);
  if (kernel == nullptr) return;  // commands that use the kernel will fail
  // Three copies of each pointer: the kernel's, the first command's, and the driver's.
  HeldMemory held(session.counters(), sizeof(SvmPointers) + 3 * sizeof(void*) * std::uint64_t{message.pointers.size()});
  auto list = std::make_shared<SvmPointers>(std::move(held));
  for (std::size_t i = 0; i < message.pointers.size(); ++i) {
    Buffer* buffer = session.objects().svm_at(message.pointers[i]);
    if (buffer == nullptr) continue;
    list->pointers.push_back(reinterpret_cast<void*>(message.pointers[i]));
    list->buffers.emplace_back(buffer);
  }
  kernel->set_svm(std::move(list));
}

void release_svm(Session& session, const Ref<Buffer>& buffer) {
  SessionObjects& objects = session.objects();
  const auto known = objects.svm.find(buffer->svm()->address());
  if (known != objects.svm.end() && known->second == buffer) objects.svm.erase(known);
  objects.queues.for_each([&](Queue& queue) REQUIRES(session_lock) {
    if (buffer->svm()->usable_on(queue.device())) keep_svm(session, queue, {buffer});
  });
}

void keep_svm(Session& session, Queue& queue) {
  std::vector<Ref<Buffer>> all;
  for (const auto& [address, buffer] : session.objects().svm) {
    if (buffer->svm()->usable_on(queue.device())) all.push_back(buffer);
  }
  if (!all.empty()) keep_svm(session, queue, std::move(all));
}

void keep_svm(Session& session, Queue& queue, std::vector<Ref<Buffer>> buffers) {
  if (queue.native() == nullptr) return;
  HeldMemory held(session.counters(), sizeof(KeptBuffers) + buffers.size() * sizeof buffers.front());
  auto& releasing = session.objects().releasing;
  releasing.push_front({std::move(buffers), std::move(held)});
  session.issuer().submit(queue, nullptr, {}, ReleaseCommand{&session, releasing.begin()}, true);
}

}  // namespace remotecl::server
