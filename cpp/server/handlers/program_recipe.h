#pragma once

#include "server/program/program.h"
#include "server/program/program_builder.h"
#include "server/session/session.h"

// Programs that the client has created with a recipe in place of a binary (ProgramRecipe). They are made like those
// whose source the client sends, and so have the same keys in the caches.
namespace remotecl::server {

// What a driver answers when it gets a binary. An object or a library is made now, because it can be linked without a
// build.
cl_program inspect_recipe(Session& session, BuildReport& report, Device& on, Program& program);
// `CL_INVALID_BINARY` for an object or a library.
cl_program build_recipe(Session& session, BuildReport& report, Device& on, Program& program);

}  // namespace remotecl::server
