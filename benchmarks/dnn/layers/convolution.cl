#define WINDOWS                                                                                                \
  const int height, const int width, const int output_height, const int output_width, const int size,           \
      const int stride, const int pad, const int first_image, const int image_stride, const int channel_stride

// Work-item: one pixel of a filter, and one pixel that comes out of an image. On a CPU it is all pixels of an image:
// there a loop is faster than many work-items.
__kernel void unroll(const int count, WINDOWS, __global const float* restrict input,
                     __global float* restrict columns) {
  const int item = get_global_id(0), row = get_global_id(1);
  if (item >= count) return;
  const int pixels = output_height * output_width;
#ifdef WHOLE_IMAGES
  const int image = item, images = count;
  const int first_y = 0, end_y = output_height, first_x = 0, end_x = output_width;
#else
  const int image = item / pixels, images = count / pixels, place = item % pixels;
  const int first_y = place / output_width, end_y = first_y + 1, first_x = place % output_width, end_x = first_x + 1;
#endif
  input += (size_t)(first_image + image) * image_stride + (size_t)(row / (size * size)) * channel_stride;
  columns += ((size_t)row * images + image) * pixels;
  for (int output_y = first_y; output_y < end_y; ++output_y) {
    const int y = output_y * stride - pad + row / size % size, left = row % size - pad;
    const int is_row = y >= 0 && y < height;
    for (int output_x = first_x; output_x < end_x; ++output_x) {
      const int x = output_x * stride + left;
      columns[output_y * output_width + output_x] = is_row && x >= 0 && x < width ? input[y * width + x] : 0;
    }
  }
}

// Work-item: one pixel that goes in; the sum of all columns that it is in.
__kernel void roll(const int count, const int images, WINDOWS, __global const float* restrict columns,
                   __global float* restrict input_gradient) {
  const int item = get_global_id(0), channel = get_global_id(1);
  if (item >= count) return;
  const int image = item / (height * width), place = item % (height * width);
  const int y = place / width + pad, x = place % width + pad;
  const int first_row = y < size ? 0 : (y - size) / stride + 1, last_row = min(y / stride, output_height - 1);
  const int first_column = x < size ? 0 : (x - size) / stride + 1, last_column = min(x / stride, output_width - 1);
  const int pixels = output_height * output_width;
  float sum = 0;
  for (int row = first_row; row <= last_row; ++row) {
    for (int column = first_column; column <= last_column; ++column) {
      const int filter_pixel = (y - row * stride) * size + x - column * stride;
      sum += columns[(size_t)(channel * size * size + filter_pixel) * images * pixels + image * pixels +
                     row * output_width + column];
    }
  }
  input_gradient[(size_t)(first_image + image) * image_stride + (size_t)channel * channel_stride + place] = sum;
}

__kernel void add(const int count, __global const float* restrict sums, __global float* restrict gradients,
                  const int weights) {
  const int i = get_global_id(0);
  if (i < count) gradients[weights + i] += sums[i];
}
