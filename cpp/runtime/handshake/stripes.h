#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "runtime/handshake/handshake.h"

namespace remotecl {

// Over how many connections this process would have the bulk data of a session, or of a link, go: REMOTECL_BULK_STREAMS
// in the environment, from 1 to kStripesMax, else as many as its cores can serve. Both sides have a say, and the
// smaller number is used.
unsigned bulk_streams();

// The features that ask for them, or for so many, in the Hello of a connection for bulk data, and what a server takes
// of those that a Hello names, for one of so many channels.
std::uint64_t stripes_features(unsigned wanted = bulk_streams());
std::uint64_t taken_stripes(const Hello& hello, unsigned channels = 1);

// Makes a connection, before any handshake; where it is TLS, that may take until the deadline. Throws ConnectionError.
using Dial = std::function<std::shared_ptr<Connection>(std::chrono::milliseconds timeout, Deadline deadline)>;

// After the Welcome of `first`: as many connections beside it as the server has taken and can be made, in their order.
// Tells the server, which then reads the stream from all of them. `group` names the session, and what that handshake
// has made a secret (stripes_key). Throws ConnectionError when `first` is broken.
std::vector<std::shared_ptr<Connection>> open_stripes(Connection& first, const Address& address,
                                                      const Invitation& group, unsigned count, const Dial& dial);

}  // namespace remotecl
