#define WINDOWS                                                                                                   \
  const int height, const int width, const int output_height, const int output_width, const int size, const int stride

// Work-item: one output, of which `place` is where it is in its plane.
#define OUTPUT                                                                             \
  const int i = get_global_id(0);                                                          \
  if (i >= count) return;                                                                  \
  const int plane = i / (output_height * output_width), place = i % (output_height * output_width); \
  const int top = place / output_width * stride, left = place % output_width * stride;     \
  const int bottom = min(top + size, height), right = min(left + size, width);             \
  input += (size_t)plane * height * width

// Work-item: one input, and the windows that it is in.
#define INPUT                                                                              \
  const int i = get_global_id(0);                                                          \
  if (i >= count) return;                                                                  \
  const int plane = i / (height * width), place = i % (height * width);                    \
  const int y = place / width, x = place % width;                                          \
  const int first_row = y < size ? 0 : (y - size) / stride + 1, last_row = min(y / stride, output_height - 1);    \
  const int first_column = x < size ? 0 : (x - size) / stride + 1, last_column = min(x / stride, output_width - 1); \
  gradient += (size_t)plane * output_height * output_width

__kernel void max_forward(const int count, WINDOWS, __global const float* restrict input,
                          __global float* restrict output, __global int* restrict largest) {
  OUTPUT;
  float best = -INFINITY;
  int best_at = top * width + left;
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const float value = input[y * width + x];
      if (value > best) best = value, best_at = y * width + x;
    }
  }
  output[i] = best;
  largest[i] = best_at;
}

__kernel void max_backward(const int count, WINDOWS, __global const int* restrict largest,
                           __global const float* restrict gradient, __global float* restrict input_gradient) {
  INPUT;
  largest += (size_t)plane * output_height * output_width;
  float sum = 0;
  for (int row = first_row; row <= last_row; ++row) {
    for (int column = first_column; column <= last_column; ++column) {
      const int at = row * output_width + column;
      if (largest[at] == place) sum += gradient[at];
    }
  }
  input_gradient[i] = sum;
}

__kernel void average_forward(const int count, WINDOWS, __global const float* restrict input,
                              __global float* restrict output) {
  OUTPUT;
  float sum = 0;
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) sum += input[y * width + x];
  output[i] = sum / ((bottom - top) * (right - left));
}

__kernel void average_backward(const int count, WINDOWS, __global const float* restrict gradient,
                               __global float* restrict input_gradient) {
  INPUT;
  float sum = 0;
  for (int row = first_row; row <= last_row; ++row) {
    const int rows = min(row * stride + size, height) - row * stride;
    for (int column = first_column; column <= last_column; ++column) {
      const int columns = min(column * stride + size, width) - column * stride;
      sum += gradient[row * output_width + column] / (rows * columns);
    }
  }
  input_gradient[i] = sum;
}
