#pragma once

namespace remotecl {

// The calling thread's send() works so many times, and then once breaks its connection, as if the peer had reset it.
// For connections whose bytes go out through send(): those of try_write().
void fail_send_after(int calls);

}  // namespace remotecl
