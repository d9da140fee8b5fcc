#pragma once

#include <vector>

#include "server/session/session.h"

namespace remotecl::server {

// Keeps all shared memory, or these buffers, until the queue's present commands have ended. Kernels get
// addresses, so the driver does not know which of them still use the memory.
void keep_svm(Session& session, Queue& queue) REQUIRES(session_lock);
void keep_svm(Session& session, Queue& queue, std::vector<Ref<Buffer>> buffers) REQUIRES(session_lock);
// The client has released shared memory.
void release_svm(Session& session, const Ref<Buffer>& buffer) REQUIRES(session_lock);

}  // namespace remotecl::server
