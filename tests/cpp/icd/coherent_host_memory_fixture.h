#pragma once

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "icd/fixture.h"
#include "icd/library.h"
#include "remotecl/remotecl.h"

namespace remotecl::testing {

// With REMOTECL_HOST_POINTERS=coherent.
class CoherentHostMemoryTest : public RemoteTest {
 protected:
  static Owned<cl_mem> over(cl_context context, std::vector<int>& memory, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    return make_buffer(context, memory.size() * sizeof(int), flags | CL_MEM_USE_HOST_PTR, memory.data());
  }
  Owned<cl_mem> over(std::vector<int>& memory, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    return over(context_, memory, flags);
  }
  void add(cl_command_queue queue, cl_mem buffer, std::size_t count, int value, const std::vector<cl_event>& wait = {},
           cl_event* event = nullptr) {
    if (add_ == nullptr) add_ = kernel("add");
    check(set_arg(add_, 0, buffer));
    check(set_arg(add_, 1, value));
    check(run(queue, add_, count, wait, event));
  }
  // Bytes between this process and the first device's server: sent, received.
  static std::pair<std::uint64_t, std::uint64_t> traffic() {
    char* const text = library_function<decltype(remotecl_stats_json)>("remotecl_stats_json")();
    const nlohmann::json server = nlohmann::json::parse(text)["servers"][0];
    library_function<decltype(remotecl_free)>("remotecl_free")(text);
    return {server["bytes_sent"], server["bytes_received"]};
  }

 private:
  Owned<cl_kernel> add_;
};

}  // namespace remotecl::testing
