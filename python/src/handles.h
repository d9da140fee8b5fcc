#pragma once

#include <cstdint>
#include <vector>

namespace remotecl::python {

// Objects of OpenCL are integers, as PyOpenCL's int_ptr.
using Handle = std::uintptr_t;

template <class Type>
std::vector<Type> objects(const std::vector<Handle>& handles) {
  std::vector<Type> result;
  for (const Handle handle : handles) result.push_back(reinterpret_cast<Type>(handle));
  return result;
}

}  // namespace remotecl::python
