__kernel void update(const int count, const int begin, const int weight_count, const float rate, const float momentum,
                     const float decay, __global const float* restrict gradients, __global float* restrict values,
                     __global float* restrict velocities) {
  if (get_global_id(0) >= count) return;
  const int i = begin + get_global_id(0);
  const int is_bias = i >= weight_count;
  const float gradient = gradients[i] + (is_bias ? 0 : decay * values[i]);
  velocities[i] = momentum * velocities[i] + (is_bias ? 2 * rate : rate) * gradient;
  values[i] -= velocities[i];
}

__kernel void add_gradient(const int count, const int begin, __global const float* restrict other,
                           __global float* restrict gradients) {
  const int i = get_global_id(0);
  if (i < count) gradients[begin + i] += other[i];
}
