#pragma once

#include <optional>
#include <string>

#include "runtime/containment/system_call_filter.h"
#include "server/driver/native_driver.h"

namespace remotecl::server {

// Whether sessions have processes of their own, and why, as text for the server's operator.
struct IsolationChoice {
  bool isolates;
  std::string words;
};

// `asked`: what the options say, if anything. `is_open`: whether others than this process's user can connect,
// by token, certificate or address.
IsolationChoice choose_isolation(std::optional<bool> asked, bool is_open, const NativeDriver& driver);

// The filter of sessions' processes, if the options name none. Only processors' drivers (PoCL, Intel's, llvmpipe) get
// by with the calls that are listed: they compile, link and start threads, as all do. A driver of a GPU, or of anything
// else, also asks its device file for things that nobody has listed; so do RDMA devices (`has_rdma`). Called when the
// drivers have been opened.
CallFilter choose_filter(bool has_rdma);

}  // namespace remotecl::server
