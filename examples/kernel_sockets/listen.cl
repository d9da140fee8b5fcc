// In front of each example's kernels: opens a listener, which the kernels after this one can use.
#include "remotecl/net.cl"

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

