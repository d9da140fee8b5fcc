#include "server/quota/counters.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "runtime/base/sealed_memory.h"

namespace remotecl::server {
namespace {

std::system_error failed(const char* what) { return {errno, std::system_category(), what}; }

Descriptor make_memory(std::size_t size) {
  Descriptor memory(make_sealed_memory("remotecl counters", size));
  if (!memory.valid()) throw failed("memfd_create");
  return memory;
}

}  // namespace

Counters::Counters(std::size_t count, For whom)
    : count_(count), memory_(whom == For::kSeveralProcesses ? make_memory(count * sizeof *numbers_) : Descriptor()) {
  if (memory_.valid()) {
    map();
  } else {
    numbers_ = new std::atomic<std::uint64_t>[count] {};
  }
}

Counters::Counters(std::size_t count, Descriptor memory) : count_(count), memory_(std::move(memory)) { map(); }

void Counters::map() {
  struct stat found {};
  const std::size_t size = count_ * sizeof *numbers_;
  if (::fstat(memory_.get(), &found) != 0 || static_cast<std::size_t>(found.st_size) < size) throw failed("fstat");
  void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
  if (at == MAP_FAILED) throw failed("mmap");
  numbers_ = static_cast<std::atomic<std::uint64_t>*>(at);
}

Counters::~Counters() {
  if (memory_.valid()) {
    ::munmap(numbers_, count_ * sizeof *numbers_);
  } else {
    delete[] numbers_;
  }
}

}  // namespace remotecl::server
