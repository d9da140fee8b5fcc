// What is put in front of each example's kernels.
#include "remotecl/net.cl"

// The last ready one of the first `count` sockets, or -1.
int ready_before(__global const uint* ready, int count) {
  int k = count - 1;
  while (k >= 0 && ready[k] == 0) --k;
  return k;
}

// The first free place, or `most`.
int free_place(__global const int* sockets, int most) {
  int k = 0;
  while (k < most && sockets[k] >= 0) ++k;
  return k;
}

// Opens a listener, which the kernels after this one can use.
// result = {handle or error, port}
__kernel void open_listener(__global rcl_net* net, __global const char* address, __global int* result) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, address, 512);
  int port = listener < 0 ? 0 : rcl_port(g, listener);
  if (get_local_id(0) == 0) {
    result[0] = listener;
    result[1] = port;
  }
}

