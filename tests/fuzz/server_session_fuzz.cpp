// A whole session of a daemon over a fake driver: messages of a client and of another server, and bulk data of both.
#include <cstdlib>

#include "session_under_test.h"

using namespace remotecl;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::SessionUnderTest session;
  for (const fuzz::Record& record : fuzz::parse_records(std::as_bytes(std::span(data, size)))) session.feed(record);
  return 0;
}
