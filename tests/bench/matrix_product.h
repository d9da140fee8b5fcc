#pragma once

#include <cstddef>
#include <vector>

#include "opencl_objects.h"

namespace remotecl::bench {

// How the rows and columns are cut for one kind of device; see sgemm_kernel.h.
struct Tile {
  size_t rows;
  size_t columns;
  size_t depth;
  size_t item_rows;
  size_t item_columns;

  size_t items() const { return (rows / item_rows) * (columns / item_columns); }
};

// Products of two square matrices, whose rows are divided among devices and gathered on the first one. All inputs begin
// on the first device. Used by one thread.
class MatrixProduct {
 public:
  // Throws std::invalid_argument when `size` cannot be cut into tiles for so many devices.
  MatrixProduct(cl_platform_id platform, std::vector<cl_device_id> devices, size_t size);

  // Each returns the seconds until all of it has ended.
  double distribute();           // both inputs to all devices
  double compute(size_t count);  // that many products, on every device its rows
  double gather();               // the rows to the first device
  double whole(size_t count);    // compute and gather, the host waits once

  // New inputs, so that no result of former ones passes for theirs. Not timed.
  void renew_inputs();
  // Compares some elements of every device's rows with what the host computes; throws DataError.
  void verify() const;

 private:
  struct Part {
    size_t first_row;
    size_t rows;
    Queue queue;
    Memory result;  // these rows of result_
  };

  void enqueue_products(size_t count, std::vector<Event>* last);
  void enqueue_gather(const std::vector<Event>& after);
  void migrate(const Part& part, const std::vector<cl_mem>& memory, const std::vector<cl_event>& after = {});
  void finish_all() const;
  float read_element(size_t row, size_t column) const;
  double expected_element(size_t row, size_t column) const;

  const size_t size_;
  const Tile tile_;
  cl_uint seed_ = 0;
  Context context_;
  Program program_;
  Kernel fill_;
  Kernel multiply_;
  Memory a_;
  Memory b_;
  Memory result_;
  std::vector<Part> parts_;
};

}  // namespace remotecl::bench
