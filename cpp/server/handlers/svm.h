#pragma once

#include <vector>

#include "server/session/session.h"

namespace remotecl::server {

// Keeps what commands of the queue may use until they have ended: all shared memory, or these. Kernels got its
// address, so no driver knows who still uses it.
void keep_svm(Session& session, Queue& queue);
void keep_svm(Session& session, Queue& queue, std::vector<Ref<Buffer>> buffers);
// The client has released shared memory.
void release_svm(Session& session, const Ref<Buffer>& buffer);

}  // namespace remotecl::server
