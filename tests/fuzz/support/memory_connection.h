#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/mutex.h"
#include "runtime/transport/connection.h"

namespace remotecl::fuzz {

// The other end of a MemoryConnection: what a fuzzer feeds and looks at. Any thread. Shared by both ends.
class Pipe {
 public:
  using Taken = std::function<void(Bytes)>;

  // `taken` gets what is written to the connection, without locks of the pipe.
  explicit Pipe(Taken taken) : taken_(std::move(taken)) {}

  void feed(Bytes bytes) EXCLUDES(mutex_);
  // No more comes.
  void end() EXCLUDES(mutex_);
  // Waits until all has been read and the reader is back for more, or the connection was shut down; but not longer.
  void wait_until_read(std::chrono::milliseconds patience) EXCLUDES(mutex_);
  bool is_shut_down() const EXCLUDES(mutex_);

 private:
  friend class MemoryConnection;

  const Taken taken_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::byte> bytes_ GUARDED_BY(mutex_);
  std::size_t read_ GUARDED_BY(mutex_) = 0;
  bool reader_waits_ GUARDED_BY(mutex_) = false;
  bool has_ended_ GUARDED_BY(mutex_) = false;
  bool is_shut_down_ GUARDED_BY(mutex_) = false;
};

// A connection without a socket: the daemon's end.
class MemoryConnection final : public Connection {
 public:
  explicit MemoryConnection(std::shared_ptr<Pipe> pipe) : pipe_(std::move(pipe)) {}
  ~MemoryConnection() override { shutdown(); }

  using Connection::write;
  std::size_t read_some(MutableBytes to) override;
  std::ptrdiff_t try_read_some(MutableBytes to) override;
  bool write(iovec* parts, int count) override;
  std::ptrdiff_t try_write(Bytes from) override;
  int wait_handle() const override { return -1; }
  void set_read_timeout(std::chrono::milliseconds) override {}
  void shutdown() override;

 private:
  const std::shared_ptr<Pipe> pipe_;
};

}  // namespace remotecl::fuzz
