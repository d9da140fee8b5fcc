#pragma once

#include <memory>
#include <vector>

#include "runtime/base/bytes.h"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace remotecl {

// Compresses blocks, each by itself, by zstd's fastest ordinary level. One thread.
class BlockCompressor {
 public:
  BlockCompressor();
  ~BlockCompressor();

  // The compressed block, valid until the next call. Empty if it would not be smaller, or memory is short.
  Bytes compress(Bytes block);
  // The size of the sample that decides whether the rest of a block is worth it.
  static constexpr std::size_t kSample = 16u << 10;

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };

  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::vector<std::byte> compressed_;
};

// One thread.
class BlockDecompressor {
 public:
  BlockDecompressor();
  ~BlockDecompressor();

  // Fills `to` exactly. Returns false if `compressed` is not the whole of one block of that size; then `to` may have
  // been written, and nothing beyond it.
  bool decompress(Bytes compressed, MutableBytes to);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };

  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace remotecl
