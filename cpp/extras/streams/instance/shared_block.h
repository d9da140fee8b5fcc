#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace remotecl::plugins {

// Memory that this process can share with those of plugins. Zeros at first. When it is destroyed its pages are given
// back to the system, even while another process still maps them.
class SharedBlock {
 public:
  // Each block takes a descriptor of the daemon, which also needs descriptors for connections.
  static constexpr std::size_t kCountMax = 1024;

  // Null: the system has no more.
  static std::shared_ptr<SharedBlock> make(std::size_t size);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::uint64_t id() const { return id_; }
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }

 private:
  SharedBlock(int descriptor, std::byte* data, std::size_t size);

  const std::uint64_t id_;  // never another block's
  const int descriptor_;
  std::byte* const data_;
  const std::size_t size_;
};

}  // namespace remotecl::plugins
