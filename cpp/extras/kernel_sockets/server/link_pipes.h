#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>

#include "extras/kernel_sockets/server/link_pipe.h"
#include "extras/kernel_sockets/server/name_search.h"
#include "extras/kernel_sockets/space/kernel_names.h"
#include "runtime/base/mutex.h"
#include "runtime/base/ref_counted.h"
#include "runtime/protocol/messages.h"
#include "server/arguments/link_arguments.h"
#include "server/quota/held_memory.h"
#include "server/wire/outbox.h"

namespace remotecl::server {

// The connections of kernels that one link carries. Shared by the link, by its connections, and by kernels' searches
// for names; any thread.
class LinkPipes final : public LinkArguments {
 public:
  LinkPipes(Outbox& outbox, const Ref<KernelNames>& names, const Ref<SessionCounters>& counters);
  ~LinkPipes() override;

  // Asks the peer for a name. Returns false if the link is lost.
  bool ask(const Ref<NameSearch>& search) EXCLUDES(mutex_);
  void close() override EXCLUDES(mutex_, sending_);

  void take(const ConnectName& message) override EXCLUDES(mutex_);
  void take(const NameReply& message) override EXCLUDES(mutex_);
  void take(const PipeData& message) override { find(message.pipe)->deliver(message.data); }
  void take(const PipeCredit& message) override { find(message.pipe)->credit(message.bytes); }
  void take(const PipeEnd& message) override EXCLUDES(mutex_);

  // ---- For its connections.
  template <class Message>
  void send(const Message& message) EXCLUDES(sending_) {
    MutexLock lock(sending_);
    if (outbox_ != nullptr) outbox_->send(message);
  }
  // Returns true if so much is unwritten that the connection should wait; it is woken once all is written.
  bool is_behind(Ref<LinkPipe> pipe) EXCLUDES(sending_);
  // A connection has been destroyed.
  void forget() EXCLUDES(mutex_);

 private:
  struct Entry {
    Ref<LinkPipe> pipe;
    Ref<NameSearch> search;  // until the peer has answered
  };

  // Null if the session may not hold another one.
  Ref<LinkPipe> make() EXCLUDES(mutex_);
  Ref<LinkPipe> find(PipeId pipe) EXCLUDES(mutex_);
  Entry remove(PipeId pipe) EXCLUDES(mutex_);
  void wake_waiting() EXCLUDES(sending_);

  const Ref<KernelNames> names_;
  Mutex mutex_;
  bool is_closed_ GUARDED_BY(mutex_) = false;
  PipeId last_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<PipeId, Entry> entries_ GUARDED_BY(mutex_);
  std::uint64_t count_ GUARDED_BY(mutex_) = 0;  // also of ended connections that kernels still hold
  HeldMemory held_ GUARDED_BY(mutex_);
  // May be locked while a connection's lock is held, never together with mutex_.
  Mutex sending_;
  Outbox* outbox_ GUARDED_BY(sending_);
  std::map<LinkPipe*, Ref<LinkPipe>> waiting_ GUARDED_BY(sending_);
};

}  // namespace remotecl::server
