#include "server/transfer/upload_store.h"

#include <exception>
#include <new>
#include <system_error>

#include "server/util/log.h"

namespace remotecl::server {

bool UploadStore::take(std::atomic<std::uint64_t>& taken, std::uint64_t size, std::uint64_t bound) {
  if (taken.fetch_add(size) + size <= bound) return true;
  taken -= size;
  return false;
}

std::unique_ptr<UploadStore::FoundChunk> UploadStore::find(const std::string& owner, const Digest& digest) {
  if (store_ == nullptr || !take(open_, 1, kOpenMax)) return nullptr;
  std::unique_ptr<FoundChunk> found(new FoundChunk{digest, StoredContent(), {open_, 1}});
  found->content = store_->open(owner, digest);
  return found->content.valid() ? std::move(found) : nullptr;
}

std::unique_ptr<UploadStore::NewChunk> UploadStore::begin_chunk(const std::string& owner, std::uint64_t size) {
  if (store_ == nullptr || !take(waiting_, size, kWaitingMax)) return nullptr;
  std::unique_ptr<NewChunk> chunk(new NewChunk{owner, {}, {waiting_, size}});
  try {
    chunk->bytes.reserve(static_cast<std::size_t>(size));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  return chunk;
}

void UploadStore::keep(std::unique_ptr<NewChunk> chunk) {
  MutexLock lock(thread_.mutex);
  if (thread_.is_stopping()) return;
  try {
    thread_.start();
  } catch (const std::system_error& error) {
    return log_warning("no thread to store uploads: {}", error.what());
  }
  queue_.push_back(std::move(chunk));
  thread_.wake();
}

void UploadStore::save_all(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(thread_.mutex);
  while (!queue_.empty() || is_storing_) {
    if (stored_.wait_until(thread_.mutex, deadline) == std::cv_status::timeout) return;
  }
}

void UploadStore::run() {
  for (;;) {
    std::unique_ptr<NewChunk> chunk;
    {
      MutexLock lock(thread_.mutex);
      is_storing_ = false;
      stored_.notify_all();
      while (!thread_.is_stopping() && queue_.empty()) thread_.wait();
      if (thread_.is_stopping()) return;
      chunk = std::move(queue_.front());
      queue_.pop_front();
      is_storing_ = true;
    }
    store(*chunk);
  }
}

void UploadStore::store(const NewChunk& chunk) {
  try {
    store_->keep(chunk.owner, sha256(chunk.bytes), chunk.bytes);
  } catch (const std::exception& error) {
    log_info("a chunk of an upload was not stored: {}", error.what());
  }
}

}  // namespace remotecl::server
