// Work-item: one image.
__kernel void forward(const int images, const int classes, const int image_stride, const int channel_stride,
                      __global const float* restrict scores, __global const int* restrict labels,
                      __global float* restrict probabilities, __global float* restrict losses) {
  const int image = get_global_id(0);
  if (image >= images) return;
  scores += (size_t)image * image_stride;
  probabilities += (size_t)image * image_stride;
  float largest = -INFINITY, sum = 0;
  for (int i = 0; i < classes; ++i) largest = fmax(largest, scores[i * channel_stride]);
  for (int i = 0; i < classes; ++i) sum += exp(scores[i * channel_stride] - largest);
  for (int i = 0; i < classes; ++i) probabilities[i * channel_stride] = exp(scores[i * channel_stride] - largest) / sum;
  losses[image] = largest + log(sum) - scores[labels[image] * channel_stride];
}

// Work-item: one score.
__kernel void backward(const int count, const int classes, const int image_stride, const int channel_stride,
                       const float weight, __global const float* restrict probabilities,
                       __global const int* restrict labels, __global float* restrict gradient) {
  const int item = get_global_id(0);
  if (item >= count) return;
  const int label = item % classes, image = item / classes;
  const size_t i = (size_t)image * image_stride + (size_t)label * channel_stride;
  gradient[i] = weight * (probabilities[i] - (label == labels[image]));
}
