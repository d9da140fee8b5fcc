#include "server/transfer/offered_chunks.h"

#include <algorithm>
#include <cstring>

#include "server/transfer/transfer.h"
#include "server/util/protocol_error.h"

namespace remotecl::server {
namespace {

// Copies what comes, because the transfer's own memory is the driver's.
class CopyingInput final : public BulkInput {
 public:
  CopyingInput(BulkInput& input, std::vector<std::byte>& copy) : input_(input), copy_(copy) {}

  std::unique_ptr<MemoryRegistration> register_memory(MutableBytes memory) override {
    return input_.register_memory(memory);
  }
  bool receive(const BulkDestination& to) override {
    if (!input_.receive(to)) return false;
    copy_.insert(copy_.end(), to.bytes.begin(), to.bytes.end());
    return true;
  }
  std::size_t streams() const override { return input_.streams(); }

 private:
  BulkInput& input_;
  std::vector<std::byte>& copy_;
};

class StoredInput final : public BulkInput {
 public:
  explicit StoredInput(StoredContent& content) : content_(content) {}

  bool receive(const BulkDestination& to) override {
    if (is_broken_ || !content_.read(to.bytes)) {
      is_broken_ = true;
      std::memset(to.bytes.data(), 0, to.bytes.size());
    }
    return true;
  }
  std::size_t streams() const override { return 1; }
  bool is_broken() const { return is_broken_; }

 private:
  StoredContent& content_;
  bool is_broken_ = false;
};

}  // namespace

void OfferedChunks::announce(std::uint64_t offset, std::size_t count, std::uint64_t size, std::function<void()> begin) {
  std::function<void()> first;
  {
    MutexLock lock(mutex_);
    add(offset, count, size);
    waiting_.push_back({count, std::move(begin)});
    waiting_count_ += count;
    first = next_look_up();
  }
  if (first) first();
}

// Each chunk that was found keeps a file open, so the look-ups must not run far ahead of the bytes.
std::function<void()> OfferedChunks::next_look_up() {
  if (waiting_.empty() || pending_.size() > kOfferedChunksMax + waiting_count_) return nullptr;
  std::function<void()> begin = std::move(waiting_.front().begin);
  waiting_count_ -= waiting_.front().count;
  waiting_.pop_front();
  return begin;
}

void OfferedChunks::answered(std::size_t count) {
  MutexLock lock(mutex_);
  unanswered_ -= count;
}

void OfferedChunks::add(std::uint64_t offset, std::size_t count, std::uint64_t size) {
  const std::uint64_t chunks = (size + kUploadChunk - 1) / kUploadChunk, first = offset / kUploadChunk;
  const bool is_in_order = offset % kUploadChunk == 0 && offset >= announced_;
  if (!is_in_order || count == 0 || count > kOfferedChunksMax || first >= chunks || count > chunks - first) {
    throw ProtocolError("an offer of " + std::to_string(count) + " chunks at " + std::to_string(offset) +
                        ", which the transfer does not have or has offered before");
  }
  if (unanswered_ + count > kPendingChunksMax) throw ProtocolError("too many chunks are offered at a time");
  for (std::uint64_t i = 0; i < count; ++i) pending_.emplace(offset + i * kUploadChunk, nullptr);
  announced_ = offset + count * kUploadChunk;
  unanswered_ += count;
}

bool OfferedChunks::look_up(std::uint64_t offset, const Digest& digest, std::uint64_t size) {
  auto found = store_.find(owner_, digest);
  if (found == nullptr || found->content.size() != size) return false;
  MutexLock lock(mutex_);
  const auto at = pending_.find(offset);
  if (at == pending_.end()) return false;  // the client has not waited for the answer
  at->second = std::move(found);
  return true;
}

std::uint32_t OfferedChunks::receive(BulkInput& input, IncomingTransfer& transfer, std::uint32_t size_max,
                                     StagingSet& staging) {
  const std::uint64_t at = transfer.received(), begun = at % kUploadChunk;
  const std::uint64_t chunk_size = std::min<std::uint64_t>(kUploadChunk, transfer.size() - (at - begun));
  if (begun == 0) {
    std::function<void()> next;
    {
      MutexLock lock(mutex_);
      pending_.erase(pending_.begin(), pending_.lower_bound(at));  // chunks that have overtaken their offer
      incoming_ = pending_.erase(at) != 0 ? store_.begin_chunk(owner_, chunk_size) : nullptr;
      next = next_look_up();
    }
    if (next) next();
  }
  const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(size_max, chunk_size - begun));
  if (incoming_ == nullptr) return transfer.receive(input, size, staging) ? size : 0;
  CopyingInput copying(input, incoming_->bytes);
  if (!transfer.receive(copying, size, staging)) return 0;
  if (incoming_->bytes.size() == chunk_size) store_.keep(std::move(incoming_));
  return size;
}

void OfferedChunks::receive_stored(IncomingTransfer& transfer, StagingSet& staging) {
  std::unique_ptr<UploadStore::FoundChunk> found;
  std::function<void()> next;
  {
    MutexLock lock(mutex_);
    const auto at = pending_.find(transfer.received());
    if (at != pending_.end()) found = std::move(at->second);
    if (found != nullptr) pending_.erase(at);
    next = next_look_up();
  }
  if (next) next();
  if (found == nullptr) {
    throw ProtocolError("bytes of transfer " + std::to_string(transfer.id()) + " are left out, which were not found");
  }
  StoredInput input(found->content);
  const auto size = static_cast<std::uint32_t>(found->content.size());
  transfer.receive(input, size, staging);
  if (input.is_broken()) {
    transfer.set_error(CL_OUT_OF_RESOURCES);
    store_.doubt(owner_, *found);
  }
  transfer.count(size);
}

}  // namespace remotecl::server
