#pragma once

#include <memory>
#include <vector>

#include "runtime/handshake/joiner.h"

namespace remotecl {

// How many connections this process wants for each bulk stream of a session or link: REMOTECL_BULK_STREAMS
// from the environment (1 to kStripesMax), or as many as its cores can serve. Both sides state a number, and
// the smaller one is used.
unsigned bulk_streams();

// The features that request them in the Hello of a bulk connection; and the number that a server accepts of
// those in a Hello, for one of `channels` channels.
std::uint64_t stripes_features(unsigned wanted = bulk_streams());
std::uint64_t taken_stripes(const Hello& hello, unsigned channels = 1);

// After the Welcome of `first`, makes as many further connections as the server has accepted and as succeed,
// in order. Reports their number to the server, which then reads the stream from all of them. `group` has the
// session's id, and the key that the first handshake produced (stripes_key). Throws ConnectionError if
// `first` is broken.
std::vector<std::shared_ptr<Connection>> open_stripes(Connection& first, const Address& address,
                                                      const Invitation& group, unsigned count, const Joiner& join);
// The stream over all of them; `first`, if there are no others.
std::shared_ptr<Connection> join_stripes(std::shared_ptr<Connection> first, const Address& address,
                                         const Invitation& group, unsigned count, const Joiner& join);

}  // namespace remotecl
