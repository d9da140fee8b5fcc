#include "matrix_product.h"

#include <cmath>
#include <random>
#include <stdexcept>

#include "measure.h"
#include "pattern.h"
#include "sgemm_kernel.h"

namespace remotecl::bench {
namespace {

constexpr size_t kElementsChecked = 16;  // of each device's rows

bool is_cpu(cl_device_id device) {
  return (device_value<cl_device_type>(device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
}

// One for all devices. CPUs have the work items of a group one after another: smaller tiles stay in their cache.
Tile choose_tile(const std::vector<cl_device_id>& devices) {
  for (cl_device_id device : devices) {
    if (is_cpu(device)) return {64, 64, 16, 8, 8};
  }
  return {128, 128, 16, 8, 8};
}

std::string build_options(const Tile& tile) {
  const auto define = [](const char* name, size_t value) {
    return std::string(" -D") + name + "=" + std::to_string(value);
  };
  // The qualifiers come with it: the inputs are constant, so every device keeps them.
  return "-cl-kernel-arg-info" + define("BM", tile.rows) + define("BN", tile.columns) + define("BK", tile.depth) +
         define("TM", tile.item_rows) + define("TN", tile.item_columns);
}

// As `fill` has it.
double element(size_t index, cl_uint seed) {
  cl_uint h = (static_cast<cl_uint>(index) + seed * 0x9e3779b9u) * 2654435761u;
  h = (h ^ (h >> 15)) * 0x85ebca6bu;
  return static_cast<double>(h >> 24) / 128.0 - 1.0;
}

void flush(const Queue& queue) { check(clFlush(queue.get()), "clFlush"); }
void finish(const Queue& queue) { check(clFinish(queue.get()), "clFinish"); }

Memory make_rows(const Memory& matrix, size_t origin, size_t size) {
  const cl_buffer_region region{origin, size};
  cl_int status = CL_SUCCESS;
  Memory rows(clCreateSubBuffer(matrix.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &status));
  check(status, "clCreateSubBuffer");
  return rows;
}

}  // namespace

MatrixProduct::MatrixProduct(cl_platform_id platform, std::vector<cl_device_id> devices, size_t size)
    : size_(size), tile_(choose_tile(devices)) {
  const size_t blocks = size / tile_.rows;
  if (size == 0 || size % tile_.rows != 0 || size % tile_.columns != 0 || blocks < devices.size()) {
    throw std::invalid_argument("the size has to be a multiple of " + std::to_string(tile_.rows) + ", at least " +
                                std::to_string(tile_.rows * devices.size()) + " for " + std::to_string(devices.size()) +
                                " devices");
  }
  context_ = make_context(platform, devices);
  program_ = build_program(context_.get(), devices, kSgemmSource, build_options(tile_));
  fill_ = make_kernel(program_, "fill");
  multiply_ = make_kernel(program_, "multiply");
  const size_t row_bytes = size * sizeof(float);
  a_ = make_buffer(context_.get(), size * row_bytes);
  b_ = make_buffer(context_.get(), size * row_bytes);
  result_ = make_buffer(context_.get(), size * row_bytes);
  for (size_t i = 0; i < devices.size(); ++i) {
    const size_t first_row = blocks * i / devices.size() * tile_.rows;
    const size_t rows = blocks * (i + 1) / devices.size() * tile_.rows - first_row;
    parts_.push_back({first_row, rows, make_queue(context_.get(), devices[i], 0),
                      make_rows(result_, first_row * row_bytes, rows * row_bytes)});
  }
}

void MatrixProduct::renew_inputs() {
  const size_t elements = size_ * size_;
  for (const Memory* matrix : {&a_, &b_}) {
    set_argument(fill_, 0, matrix->get());
    set_argument(fill_, 1, ++seed_);
    check(
        clEnqueueNDRangeKernel(parts_[0].queue.get(), fill_.get(), 1, nullptr, &elements, nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
  }
  finish_all();
}

double MatrixProduct::distribute() {
  const Stopwatch watch;
  for (const Part& part : parts_) migrate(part, {a_.get(), b_.get()});
  finish_all();
  return watch.seconds();
}

double MatrixProduct::compute(size_t count) {
  const Stopwatch watch;
  enqueue_products(count, nullptr);
  finish_all();
  return watch.seconds();
}

double MatrixProduct::gather() {
  const Stopwatch watch;
  enqueue_gather({});
  finish(parts_[0].queue);
  return watch.seconds();
}

double MatrixProduct::whole(size_t count) {
  const Stopwatch watch;
  std::vector<Event> last;
  enqueue_products(count, &last);
  enqueue_gather(last);
  finish(parts_[0].queue);
  return watch.seconds();
}

void MatrixProduct::enqueue_products(size_t count, std::vector<Event>* last) {
  set_argument(multiply_, 0, a_.get());
  set_argument(multiply_, 1, b_.get());
  set_argument(multiply_, 3, static_cast<cl_uint>(size_));
  for (const Part& part : parts_) {
    set_argument(multiply_, 2, part.result.get());
    set_argument(multiply_, 4, static_cast<cl_uint>(part.first_row));
    const size_t global[] = {size_ / tile_.columns * tile_.items(), part.rows / tile_.rows};
    const size_t local[] = {tile_.items(), 1};
    for (size_t i = 0; i < count; ++i) {
      cl_event event = nullptr;
      const bool is_last = last && i + 1 == count;
      check(clEnqueueNDRangeKernel(part.queue.get(), multiply_.get(), 2, nullptr, global, local, 0, nullptr,
                                   is_last ? &event : nullptr),
            "clEnqueueNDRangeKernel");
      if (is_last) last->emplace_back(event);
    }
    flush(part.queue);
  }
}

void MatrixProduct::enqueue_gather(const std::vector<Event>& after) {
  std::vector<cl_event> wait_list;
  for (const Event& event : after) wait_list.push_back(event.get());
  migrate(parts_[0], {result_.get()}, wait_list);
}

void MatrixProduct::migrate(const Part& part, const std::vector<cl_mem>& memory, const std::vector<cl_event>& after) {
  check(clEnqueueMigrateMemObjects(part.queue.get(), static_cast<cl_uint>(memory.size()), memory.data(), 0,
                                   static_cast<cl_uint>(after.size()), after.empty() ? nullptr : after.data(), nullptr),
        "clEnqueueMigrateMemObjects");
}

void MatrixProduct::finish_all() const {
  for (const Part& part : parts_) flush(part.queue);
  for (const Part& part : parts_) finish(part.queue);
}

float MatrixProduct::read_element(size_t row, size_t column) const {
  float value = 0;
  check(clEnqueueReadBuffer(parts_[0].queue.get(), result_.get(), CL_TRUE, (row * size_ + column) * sizeof value,
                            sizeof value, &value, 0, nullptr, nullptr),
        "clEnqueueReadBuffer");
  return value;
}

double MatrixProduct::expected_element(size_t row, size_t column) const {
  double sum = 0;
  for (size_t k = 0; k < size_; ++k) sum += element(row * size_ + k, seed_ - 1) * element(k * size_ + column, seed_);
  return sum;
}

void MatrixProduct::verify() const {
  // Sums of some thousand multiples of 1/16384: rounding is far below, one missing product is far above.
  const double tolerance = 1e-6 * static_cast<double>(size_);
  std::mt19937 random(seed_);
  for (const Part& part : parts_) {
    for (size_t i = 0; i < kElementsChecked; ++i) {
      const size_t row = part.first_row + random() % part.rows;
      const size_t column = random() % size_;
      const float received = read_element(row, column);
      const double expected = expected_element(row, column);
      if (std::fabs(received - expected) <= tolerance) continue;
      throw DataError("element " + std::to_string(row) + ", " + std::to_string(column) + " is " +
                      std::to_string(received) + " instead of " + std::to_string(expected));
    }
  }
}

}  // namespace remotecl::bench
