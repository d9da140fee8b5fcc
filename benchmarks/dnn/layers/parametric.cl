#define SUMMERS 64

// Work-item: one number that comes out.
__kernel void add_bias(const int count, const int channels, const int pixels, const int image_stride,
                       const int channel_stride, __global const float* restrict values, const int biases,
                       __global float* restrict output) {
  const int item = get_global_id(0);
  if (item >= count) return;
  const int pixel = item % pixels, channel = item / pixels % channels, image = item / (pixels * channels);
  output[(size_t)image * image_stride + (size_t)channel * channel_stride + pixel] += values[biases + channel];
}

// Work-group: one channel.
__kernel __attribute__((reqd_work_group_size(SUMMERS, 1, 1)))
void sum_bias_gradient(const int images, const int pixels, const int image_stride, const int channel_stride,
                       __global const float* restrict gradient, __global float* restrict gradients,
                       const int biases) {
  __local float sums[SUMMERS];
  const int summer = get_local_id(0), channel = get_group_id(1);
  gradient += (size_t)channel * channel_stride;
  float sum = 0;
  for (int i = summer; i < images * pixels; i += SUMMERS)
    sum += gradient[(size_t)(i / pixels) * image_stride + i % pixels];
  sums[summer] = sum;
  for (int half_count = SUMMERS / 2; half_count > 0; half_count /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (summer < half_count) sums[summer] += sums[summer + half_count];
  }
  if (summer == 0) gradients[biases + channel] = sums[0];
}
