#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/protocol/messages.h"

namespace remotecl {

class Session;

// Receives the reports of traced commands. Any thread.
class TraceSink {
 public:
  virtual void report(Session& session, const CommandTraced& report) = 0;
  // The bytes of the record's transfer have arrived.
  virtual void arrived(std::uint64_t record) = 0;
  // So many bytes have crossed the link for all bytes of the record's transfer, which are more.
  virtual void crossed(std::uint64_t record, std::uint64_t bytes) = 0;
  // A session is lost.
  virtual void lost() = 0;

  // Null until something is traced; set once.
  static TraceSink* current() { return current_.load(std::memory_order_acquire); }
  static void set(TraceSink& sink) { current_.store(&sink, std::memory_order_release); }

 protected:
  ~TraceSink() = default;

 private:
  inline static std::atomic<TraceSink*> current_{nullptr};
};

}  // namespace remotecl
