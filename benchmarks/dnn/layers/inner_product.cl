// Channels of images of pixels become channels of pixels of images.
__kernel void flatten(const int count, const int images, const int pixels, __global const float* restrict source,
                      __global float* restrict target) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int image = i % images, pixel = i / images % pixels, channel = i / (images * pixels);
  target[i] = source[(channel * images + image) * pixels + pixel];
}

// The way back.
__kernel void unflatten(const int count, const int images, const int pixels, __global const float* restrict source,
                        __global float* restrict target) {
  const int i = get_global_id(0);
  if (i >= count) return;
  const int image = i % images, pixel = i / images % pixels, channel = i / (images * pixels);
  target[(channel * images + image) * pixels + pixel] = source[i];
}
