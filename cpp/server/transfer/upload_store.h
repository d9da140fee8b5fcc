#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/stoppable_thread.h"
#include "runtime/store/content_store.h"

namespace remotecl::server {

// Chunks of uploads, which outlive their buffers. A thread of its own stores them, so that the write that has brought
// them does not wait. Owned by the sessions' host; any thread.
class UploadStore {
  // Counts against a bound as long as it lives.
  class Share {
   public:
    Share(std::atomic<std::uint64_t>& taken, std::uint64_t size) : taken_(&taken), size_(size) {}
    ~Share() { *taken_ -= size_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    std::atomic<std::uint64_t>* const taken_;
    const std::uint64_t size_;
  };

 public:
  struct FoundChunk {
    Digest digest;
    StoredContent content;
    Share share;
  };
  // A chunk whose bytes are still arriving.
  struct NewChunk {
    std::string owner;
    std::vector<std::byte> bytes;
    Share share;
  };

  // Null: nothing is kept.
  explicit UploadStore(ContentStore* store) : store_(store) {}

  bool keeps() const { return store_ != nullptr; }
  // Null if this owner has stored nothing with this digest, or if too many are open.
  std::unique_ptr<FoundChunk> find(const std::string& owner, const Digest& digest);
  // The bytes read from the chunk were damaged, so it will not be found again.
  void doubt(const std::string& owner, const FoundChunk& chunk) { store_->doubt(owner, chunk.digest); }
  // Null if too much waits to be stored, or memory is too short for it.
  std::unique_ptr<NewChunk> begin_chunk(const std::string& owner, std::uint64_t size);
  // Stores a chunk that is complete under the digest of its bytes, whatever the client has said.
  void keep(std::unique_ptr<NewChunk> chunk) EXCLUDES(thread_.mutex);
  // Waits until all of them are stored.
  void save_all(std::chrono::steady_clock::time_point deadline) EXCLUDES(thread_.mutex);

 private:
  // Bounds of all sessions together, in files and in bytes.
  static constexpr std::uint64_t kOpenMax = 512, kWaitingMax = 64u << 20;

  // Returns false if `bound` would be exceeded.
  static bool take(std::atomic<std::uint64_t>& taken, std::uint64_t size, std::uint64_t bound);
  void run() EXCLUDES(thread_.mutex);
  void store(const NewChunk& chunk);

  ContentStore* const store_;
  std::atomic<std::uint64_t> open_{0}, waiting_{0};
  std::deque<std::unique_ptr<NewChunk>> queue_ GUARDED_BY(thread_.mutex);
  bool is_storing_ GUARDED_BY(thread_.mutex) = false;
  ConditionVariable stored_;
  StoppableThread thread_{[this] { run(); }};
};

}  // namespace remotecl::server
