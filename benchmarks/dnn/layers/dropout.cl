// A number between 0 and 1 for each place of a batch and each seed.
float uniform_number(const uint place, const uint seed) {
  uint x = place * 0x9e3779b9u ^ (seed * 0x85ebca6bu + 0x27d4eb2fu);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  x ^= x >> 16;
  return (x >> 8) * (1.0f / (1 << 24));
}

__kernel void drop(const int count, const int channels, const int pixels, const int image_stride,
                   const int channel_stride, const int first_image, const float rate, const int seed,
                   __global const float* restrict values, __global float* restrict result) {
  const int item = get_global_id(0);
  if (item >= count) return;
  const int pixel = item % pixels, channel = item / pixels % channels, image = item / (pixels * channels);
  const size_t i = (size_t)image * image_stride + (size_t)channel * channel_stride + pixel;
  const uint place = (uint)first_image * channels * pixels + item;
  result[i] = uniform_number(place, seed) < rate ? 0 : values[i] / (1 - rate);
}
