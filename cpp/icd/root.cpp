#include "icd/root.h"

namespace remotecl::icd {

Root& root() {
  static Root& root = *new Root;
  return root;
}

}  // namespace remotecl::icd
