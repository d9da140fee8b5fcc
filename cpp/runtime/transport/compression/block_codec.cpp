#include "runtime/transport/compression/block_codec.h"

#include <zstd.h>

#include <algorithm>

namespace remotecl {
namespace {

constexpr int kLevel = 1;

}  // namespace

void BlockCompressor::Free::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }
void BlockDecompressor::Free::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

BlockCompressor::BlockCompressor() : context_(ZSTD_createCCtx()) {}
BlockCompressor::~BlockCompressor() = default;

Bytes BlockCompressor::compress(Bytes block) {
  if (context_ == nullptr || block.empty()) return {};
  compressed_.resize(std::max(compressed_.size(), block.size()));
  // With less room than the block has, the compressor gives up where the result would not be smaller.
  const std::size_t size =
      ZSTD_compressCCtx(context_.get(), compressed_.data(), block.size() - 1, block.data(), block.size(), kLevel);
  if (ZSTD_isError(size) != 0) return {};
  return Bytes(compressed_).first(size);
}

BlockDecompressor::BlockDecompressor() : context_(ZSTD_createDCtx()) {}
BlockDecompressor::~BlockDecompressor() = default;

bool BlockDecompressor::decompress(Bytes compressed, MutableBytes to) {
  if (context_ == nullptr) return false;
  const std::size_t size =
      ZSTD_decompressDCtx(context_.get(), to.data(), to.size(), compressed.data(), compressed.size());
  return ZSTD_isError(size) == 0 && size == to.size();
}

}  // namespace remotecl
