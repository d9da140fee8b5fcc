#include "server/quota/counters.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "runtime/base/sealed_memory.h"

namespace remotecl::server {
namespace {

std::system_error failed(const char* what) { return {errno, std::system_category(), what}; }

}  // namespace

Counters::Counters(std::size_t count, Writer writer) : count_(count) {
  const std::size_t size = count * sizeof(Number);
  void* mapped = nullptr;
  memory_ = Descriptor(writer == Writer::kThisProcess ? make_published_memory("remotecl allowances", size, mapped)
                                                      : make_sealed_memory("remotecl claims", size));
  if (!memory_.valid()) throw failed("no memory to share with the process of a session");
  if (mapped != nullptr) {
    numbers_ = static_cast<Number*>(mapped);
  } else {
    map(true);
  }
}

Counters::Counters(std::size_t count, Descriptor memory, Writer writer) : count_(count), memory_(std::move(memory)) {
  map(writer == Writer::kThisProcess);
}

void Counters::map(bool is_writable) {
  struct stat found {};
  const std::size_t size = count_ * sizeof(Number);
  if (::fstat(memory_.get(), &found) != 0 || static_cast<std::size_t>(found.st_size) < size) throw failed("fstat");
  const int access = is_writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const at = ::mmap(nullptr, size, access, MAP_SHARED, memory_.get(), 0);
  if (at == MAP_FAILED) throw failed("mmap");
  numbers_ = static_cast<Number*>(at);
}

Counters::~Counters() {
  if (memory_.valid()) {
    ::munmap(numbers_, count_ * sizeof(Number));
  } else {
    delete[] numbers_;
  }
}

}  // namespace remotecl::server
