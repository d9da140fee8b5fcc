#include "runtime/client/trace/trace_record.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace remotecl {
namespace {

constexpr std::size_t kChunkSize = 256u << 10;  // also its alignment, by which a record finds its chunk
constexpr std::size_t kRecordSize = (sizeof(TraceRecord) + 15) / 16 * 16;
constexpr std::size_t kHeadSize = 64;
constexpr std::uint32_t kRecordsInChunk = (kChunkSize - kHeadSize) / kRecordSize;

// The header of a chunk, which is freed when its last record, used or not, is given back.
struct Chunk {
  std::atomic<std::uint32_t> left{kRecordsInChunk};

  std::byte* record(std::uint32_t index) {
    return reinterpret_cast<std::byte*>(this) + kHeadSize + index * kRecordSize;
  }
  void give_back(std::uint32_t records) {
    if (left.fetch_sub(records, std::memory_order_acq_rel) == records) std::free(this);
  }
};

Chunk* make_chunk() {
  void* const memory = std::aligned_alloc(kChunkSize, kChunkSize);
  if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_POPULATE_WRITE
  // Allocating page by page would cost more than everything else. Pages that this call does not allocate are
  // still allocated on first use.
  ::madvise(memory, kChunkSize, MADV_POPULATE_WRITE);
#endif
  return new (memory) Chunk;
}

// The chunk that a thread is filling.
struct Filling {
  Chunk* chunk = nullptr;
  std::uint32_t next = kRecordsInChunk;

  ~Filling() { leave(); }
  void leave() {
    if (chunk != nullptr && next < kRecordsInChunk) chunk->give_back(kRecordsInChunk - next);
    chunk = nullptr;
    next = kRecordsInChunk;
  }
  void* take() {
    if (next == kRecordsInChunk) {
      chunk = make_chunk();
      next = 0;
    }
    return chunk->record(next++);
  }
};

thread_local Filling filling;

}  // namespace

void* TraceRecord::operator new(std::size_t) { return filling.take(); }

void TraceRecord::operator delete(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory) / kChunkSize * kChunkSize;
  reinterpret_cast<Chunk*>(address)->give_back(1);
}

void DeleteTraceRecord::operator()(TraceRecord* record) const { delete record; }

}  // namespace remotecl
