#pragma once

#include <cstdint>

namespace remotecl::fuzz {

// An input of the target of a session's process is a list of records: the code is the type of a packet, and the channel
// the descriptors that come with it; other codes are these.
enum ProcessRecord : std::uint16_t {
  kWriteClaims = 1000,  // the claim with the channel's number becomes the payload
  kQuestion,            // the daemon asks for a report
  kReadAnswers,         // the process reads what the daemon has sent
  kSayReport,  // a report with all lists, changed where the payload is not zero; of an end if the channel is odd
};

enum Passed : std::uint16_t { kNothing = 0, kSealedMemory, kMemory, kPipe, kSocket, kFolder, kSeveral, kPassedKinds };

}  // namespace remotecl::fuzz
