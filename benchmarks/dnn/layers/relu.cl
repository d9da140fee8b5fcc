__kernel void forward(const int count, __global const float* restrict input, __global float* restrict output) {
  const int i = get_global_id(0);
  if (i < count) output[i] = fmax(input[i], 0.0f);
}

__kernel void backward(const int count, __global const float* restrict input, __global const float* restrict gradient,
                       __global float* restrict input_gradient) {
  const int i = get_global_id(0);
  if (i < count) input_gradient[i] = input[i] > 0 ? gradient[i] : 0;
}
