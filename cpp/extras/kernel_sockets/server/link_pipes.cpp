#include "extras/kernel_sockets/server/link_pipes.h"

#include <cerrno>
#include <string>
#include <utility>

#include "extras/kernel_sockets/space/pipe_listener.h"
#include "extras/kernel_sockets/space/socket_address.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// The memory of one connection: its window, and an estimate of the rest.
constexpr std::uint64_t kEach = LinkPipe::kWindow + 512;
constexpr std::int32_t kErrnoMax = 4095;

}  // namespace

LinkPipes::LinkPipes(Outbox& outbox, const Ref<KernelNames>& names, const Ref<SessionCounters>& counters)
    : names_(names), held_(counters), outbox_(&outbox) {
  outbox.when_drained([this] { wake_waiting(); });
}

LinkPipes::~LinkPipes() = default;

Ref<LinkPipe> LinkPipes::make() {
  {
    MutexLock lock(mutex_);
    if (!held_.try_follow((count_ + 1) * kEach)) return nullptr;
    ++count_;
  }
  return make_ref<LinkPipe>(Ref<LinkPipes>(this));
}

void LinkPipes::forget() {
  MutexLock lock(mutex_);
  --count_;
  held_.follow(count_ * kEach);
}

Ref<LinkPipe> LinkPipes::find(PipeId pipe) {
  MutexLock lock(mutex_);
  const auto at = entries_.find(pipe);
  if (at == entries_.end() || at->second.search) {
    throw ProtocolError("a peer speaks of connection " + std::to_string(pipe) + " of kernels, which there is not");
  }
  return at->second.pipe;
}

LinkPipes::Entry LinkPipes::remove(PipeId pipe) {
  MutexLock lock(mutex_);
  auto entry = entries_.extract(pipe);
  return entry.empty() ? Entry{} : std::move(entry.mapped());
}

bool LinkPipes::ask(const Ref<NameSearch>& search) {
  Ref<LinkPipe> pipe = make();
  if (!pipe) {
    search->refused(EMFILE);
    return true;
  }
  PipeId id = 0;
  {
    MutexLock lock(mutex_);
    if (is_closed_) return false;
    id = ++last_;
    entries_.emplace(id, Entry{std::move(pipe), search});
  }
  send(ConnectName{id, LinkPipe::kWindow, search->name()});
  return true;
}

void LinkPipes::take(const NameReply& message) {
  Ref<LinkPipe> pipe;
  Ref<NameSearch> search;
  {
    MutexLock lock(mutex_);
    const auto at = entries_.find(message.pipe);
    const bool is_valid = message.error >= 0 && message.error <= kErrnoMax && (message.error != 0 || message.far != 0);
    if (at == entries_.end() || !at->second.search || !is_valid) {
      throw ProtocolError("a peer answers a kernel that has not asked, or not as it should");
    }
    pipe = at->second.pipe;
    search = std::move(at->second.search);
    if (message.error != 0) entries_.erase(at);
  }
  if (message.error != 0) return search->refused(message.error);
  pipe->open(message.far, message.window);
  search->found(std::make_unique<LinkPipeEndpoint>(std::move(pipe)));
}

void LinkPipes::take(const ConnectName& message) {
  if (message.name.size() > SocketAddress::kTextMax || message.pipe == 0) {
    throw ProtocolError("a peer's kernel asks for a name that cannot be");
  }
  const Ref<PipeListener> listener = names_->find(std::string(message.name));
  Ref<LinkPipe> pipe = listener ? make() : nullptr;
  if (!pipe) return send(NameReply{message.pipe, listener ? EMFILE : ENOENT, 0, 0});
  PipeId id = 0;
  {
    MutexLock lock(mutex_);
    if (is_closed_) return;
    id = ++last_;
    entries_.emplace(id, Entry{pipe, nullptr});
  }
  if (listener->offer(std::make_unique<LinkPipeEndpoint>(pipe))) return pipe->answer(message.pipe, id, message.window);
  remove(id);
  send(NameReply{message.pipe, ECONNREFUSED, 0, 0});
}

void LinkPipes::take(const PipeEnd& message) {
  find(message.pipe)->end(message.is_closed != 0);
  if (message.is_closed != 0) remove(message.pipe);
}

bool LinkPipes::is_behind(Ref<LinkPipe> pipe) {
  MutexLock lock(sending_);
  if (outbox_ == nullptr || !outbox_->is_behind()) return false;
  LinkPipe* const key = pipe.get();
  waiting_.emplace(key, std::move(pipe));
  return true;
}

void LinkPipes::wake_waiting() {
  std::map<LinkPipe*, Ref<LinkPipe>> waiting;
  {
    MutexLock lock(sending_);
    waiting = std::exchange(waiting_, {});
  }
  for (const auto& [key, pipe] : waiting) pipe->wake();
}

void LinkPipes::close() {
  std::map<LinkPipe*, Ref<LinkPipe>> waiting;
  {
    MutexLock lock(sending_);
    outbox_ = nullptr;
    waiting = std::exchange(waiting_, {});
  }
  std::unordered_map<PipeId, Entry> entries;
  {
    MutexLock lock(mutex_);
    is_closed_ = true;
    entries = std::exchange(entries_, {});
  }
  for (const auto& [id, entry] : entries) {
    entry.pipe->lose();
    if (entry.search) entry.search->lost();
  }
}

}  // namespace remotecl::server
