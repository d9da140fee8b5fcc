#pragma once

#include <cstdint>

#include "icd/fixture.h"

namespace remotecl::testing {

// A list through which a kernel and the host follow the same pointers.
struct Node {
  Node* next;
  int value;
};
inline constexpr char kListSource[] = R"(
typedef struct Node { global struct Node* next; int value; } Node;
kernel void add_to_list(global Node* head, int value) {
  for (global Node* node = head; node != 0; node = node->next) node->value += value;
}
kernel void make_list(global Node* nodes, int count) {
  for (int i = 0; i < count; i++) {
    nodes[i].next = i + 1 < count ? nodes + i + 1 : 0;
    nodes[i].value = i;
  }
}
)";

// One clSVMAlloc.
template <class T>
class Shared {
 public:
  Shared(cl_context context, std::size_t count, cl_uint alignment = 0)
      : context_(context),
        pointer_(static_cast<T*>(clSVMAlloc(context, CL_MEM_READ_WRITE, count * sizeof(T), alignment))),
        size_(count * sizeof(T)) {
    if (pointer_ == nullptr) throw std::runtime_error("clSVMAlloc gave nothing");
  }
  ~Shared() { clSVMFree(context_, pointer_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  operator T*() const { return pointer_; }  // NOLINT: stands for the pointer in every call
  T* get() const { return pointer_; }
  std::size_t size() const { return size_; }
  // Somebody else frees it.
  T* detach() { return std::exchange(pointer_, nullptr); }

  void map(cl_command_queue queue, cl_map_flags flags = CL_MAP_READ | CL_MAP_WRITE) const {
    check(clEnqueueSVMMap(queue, CL_TRUE, flags, pointer_, size_, 0, nullptr, nullptr));
  }
  void unmap(cl_command_queue queue) const { check(clEnqueueSVMUnmap(queue, pointer_, 0, nullptr, nullptr)); }
  void write(cl_command_queue queue, const std::vector<T>& content) const {
    map(queue, CL_MAP_WRITE_INVALIDATE_REGION);
    std::copy(content.begin(), content.end(), pointer_);
    unmap(queue);
  }
  std::vector<T> read(cl_command_queue queue) const {
    map(queue, CL_MAP_READ);
    std::vector<T> content(pointer_, pointer_ + size_ / sizeof(T));
    unmap(queue);
    return content;
  }

 private:
  const cl_context context_;
  T* pointer_;
  const std::size_t size_;
};

class SvmTest : public RemoteTest {
 protected:
  void SetUp() override {
    if (value<cl_device_svm_capabilities>(clGetDeviceInfo, device(0), CL_DEVICE_SVM_CAPABILITIES) == 0) {
      GTEST_SKIP() << "the device offers no shared virtual memory";
    }
  }

  // add() of RemoteTest's program on shared memory.
  cl_int add(cl_command_queue queue, int* data, int value, std::size_t count, const std::vector<cl_event>& wait = {},
             cl_event* event = nullptr) {
    if (add_ == nullptr) add_ = kernel("add");
    check(clSetKernelArgSVMPointer(add_, 0, data));
    check(set_arg(add_, 1, value));
    return run(queue, add_, count, wait, event);
  }

 private:
  Owned<cl_kernel> add_;
};

}  // namespace remotecl::testing
