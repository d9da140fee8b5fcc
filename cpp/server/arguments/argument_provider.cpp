#include "server/arguments/argument_provider.h"

namespace remotecl::server {

const ArgumentProvider& no_arguments() {
  static const ArgumentProvider none;
  return none;
}

}  // namespace remotecl::server
