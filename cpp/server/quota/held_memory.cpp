#include "server/quota/held_memory.h"

#include <string>

#include "server/util/format.h"

namespace remotecl::server {
namespace {

std::string in_words(std::uint64_t size) {
  constexpr std::uint64_t kMib = 1u << 20;
  return size % kMib == 0 ? format_text("{} MiB", size / kMib) : format_text("{} bytes", size);
}

}  // namespace

void HeldMemory::refuse(const SessionCounters& counters) {
  const MemoryQuota& of_session = counters.quota();
  throw HeldTooMuch(format_text(
      "more than the limit host-memory allows would be held for this session ({}) or for its user ({}): wait for "
      "commands now and then (clFinish) and release what is done with, or let whoever runs the server raise the limit "
      "(--limit session.host-memory=2GiB, default.host-memory)",
      in_words(of_session.limits().host), in_words(of_session.whole()->limits().host)));
}

}  // namespace remotecl::server
