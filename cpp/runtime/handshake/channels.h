#pragma once

namespace remotecl {

// How many bulk channels this process wants for a session that sees this many devices: REMOTECL_BULK_CHANNELS
// from the environment (1 to kBulkChannelsMax), or one for each device, as far as the cores can serve them.
// Both sides state a number, and the smaller one is used.
unsigned bulk_channels(unsigned devices);

}  // namespace remotecl
