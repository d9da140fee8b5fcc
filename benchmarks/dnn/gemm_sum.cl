// Work-item: one element of a product, of which each part of the inner dimension has made one.
__kernel void sum_parts(const int count, __global const float* restrict sums, const int parts, const int columns,
                        __global float* restrict product, const int offset, const int stride, const int add) {
  const int item = get_global_id(0);
  if (item >= count) return;
  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += sums[(size_t)part * count + item];
  __global float* restrict element = product + offset + (size_t)(item / columns) * stride + item % columns;
  *element = add ? *element + sum : sum;
}
