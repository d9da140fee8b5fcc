#include "server/transfer/upload_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace remotecl::testing {
namespace {

using server::UploadStore;

// A store that has no memory for the first content that it gets.
class ShortStore final : public ContentStore {
 public:
  std::optional<std::vector<std::byte>> find(const std::string&, const Digest&) override { return std::nullopt; }
  void keep(const std::string&, const Digest&, Bytes) override {
    if (++kept_ == 1) throw std::bad_alloc();
  }
  int kept() const { return kept_; }

 private:
  std::atomic<int> kept_{0};
};

TEST(UploadStoreTest, WhatMemoryIsTooShortForIsNotKept) {
  ShortStore store;
  UploadStore uploads(&store);
  for (int i = 0; i < 3; ++i) {
    auto chunk = uploads.begin_chunk("alice", 1000);
    ASSERT_NE(chunk, nullptr);
    chunk->bytes.resize(1000);
    uploads.keep(std::move(chunk));
  }
  uploads.save_all(std::chrono::steady_clock::now() + std::chrono::seconds(20));
  EXPECT_EQ(store.kept(), 3);
}

// The thread that receives bulk data begins chunks, and must not end for that.
TEST(UploadStoreTest, AChunkThatMemoryIsTooShortForDoesNotBegin) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than that";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    ShortStore store;
    UploadStore uploads(&store);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_AS, &none);
    ::_exit(uploads.begin_chunk("alice", 60u << 20) == nullptr && uploads.begin_chunk("alice", 100) != nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace remotecl::testing
