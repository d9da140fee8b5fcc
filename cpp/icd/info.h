#pragma once

#include <CL/cl.h>

#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "icd/boundary.h"
#include "runtime/base/bytes.h"

namespace remotecl::icd {

// The last three parameters of every clGet...Info, and the ways to answer through them.
class InfoSink {
 public:
  InfoSink(std::size_t size, void* value, std::size_t* size_ret) : size_(size), value_(value), size_ret_(size_ret) {}

  void bytes(const void* from, std::size_t size) const {
    // "CL_INVALID_VALUE if the size in bytes specified by param_value_size is < size of return type and param_value is
    // not NULL."
    require(value_ == nullptr || size_ >= size, CL_INVALID_VALUE);
    if (value_ != nullptr && size != 0) std::memcpy(value_, from, size);
    if (size_ret_ != nullptr) *size_ret_ = size;
  }
  template <class T>
  void value(const T& from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes(&from, sizeof from);
  }
  void text(const std::string& from) const { bytes(from.c_str(), from.size() + 1); }
  template <class T>
  void list(const std::vector<T>& from) const {
    bytes(from.data(), from.size() * sizeof(T));
  }

 private:
  const std::size_t size_;
  void* const value_;
  std::size_t* const size_ret_;
};

// One row of a table of queries: how `Object` answers one.
template <class Object, class... Context>
struct InfoRow {
  cl_uint name;
  void (*answer)(Object& object, const InfoSink& sink, Context... context);
};

// Answers from a table; CL_INVALID_VALUE if the name is not in it.
template <class Object, std::size_t N, class... Context, class... Actual>
void answer(const InfoRow<Object, Context...> (&table)[N], Object& object, cl_uint name, const InfoSink& sink,
            Actual&&... context) {
  for (const auto& row : table) {
    if (row.name == name) return row.answer(object, sink, std::forward<Actual>(context)...);
  }
  throw ApiError{CL_INVALID_VALUE};
}

}  // namespace remotecl::icd
