#pragma once

namespace remotecl {

// Into how many channels this process would divide the bulk data of a session that sees so many devices:
// REMOTECL_BULK_CHANNELS in the environment, from 1 to kBulkChannelsMax, else one for each device, as far as its cores
// can serve them. Both sides have a say, and the smaller number is used.
unsigned bulk_channels(unsigned devices);

}  // namespace remotecl
