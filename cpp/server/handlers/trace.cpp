#include "server/handlers/handlers.h"

namespace remotecl::server {

void handle(Session& session, const FlushTrace&) { session.reporter().hurry_traces(); }

}  // namespace remotecl::server
