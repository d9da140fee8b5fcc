// Work-item: one pixel of one channel. Its neighbours are the channels around it.
#define NEIGHBOURS                                                                                          \
  const int item = get_global_id(0);                                                                        \
  if (item >= count) return;                                                                                \
  const int pixel = item % pixels, channel = item / pixels % channels, image = item / (pixels * channels);  \
  const size_t first = (size_t)image * image_stride + pixel, i = first + (size_t)channel * channel_stride;  \
  const int begin = max(channel - size / 2, 0), end = min(channel + size / 2 + 1, channels)

#define PARAMETERS                                                                                        \
  const int count, const int channels, const int pixels, const int image_stride, const int channel_stride, \
      const int size, const float alpha, const float beta

__kernel void forward(PARAMETERS, __global const float* restrict input, __global float* restrict scale,
                      __global float* restrict output) {
  NEIGHBOURS;
  float sum = 0;
  for (int other = begin; other < end; ++other) {
    const float value = input[first + (size_t)other * channel_stride];
    sum += value * value;
  }
  scale[i] = 1 + alpha * sum;
  output[i] = input[i] * exp(-beta * log(scale[i]));
}

__kernel void backward(PARAMETERS, __global const float* restrict input, __global const float* restrict scale,
                       __global const float* restrict output, __global const float* restrict gradient,
                       __global float* restrict input_gradient) {
  NEIGHBOURS;
  float sum = 0;
  for (int other = begin; other < end; ++other) {
    const size_t at = first + (size_t)other * channel_stride;
    sum += gradient[at] * output[at] / scale[at];
  }
  input_gradient[i] = gradient[i] * exp(-beta * log(scale[i])) - 2 * alpha * beta * input[i] * sum;
}
