#pragma once

namespace remotecl::bench {

// MODE: 0 echoes, 1 receives, 2 sends. n: [0] connections, [1] size of a message, [3] messages to send on each
// connection, [4] of the kernel: the listener, [5] of the kernel: the last error, [6] of the kernel in mode 1: how many
// bytes have come, modulo 2^32. m: the address, then memory for each group.
// `talk` is the client of `serve` and `serve_many`; it sends in mode 1.
inline constexpr const char* kSocketKernels = R"CL(
__kernel void serve(__global rcl_net* net, __global volatile int* n, __global uchar* m) {
  RCL_GROUP(g, net);
  if (get_local_id(0) == 0 && get_group_id(0) == 0) {
    int bound = rcl_one_bind(g, (__global const char*)m, 4096u);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    n[4] = bound;
  }
  if (get_local_id(0) == 0) while (n[4] == 0) ;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  int listener = n[4], size = n[1], messages = n[3];
  uint received = 0;
  __global uchar* data = m + 4096 + get_group_id(0) * (ulong)size;
  for (int c = get_group_id(0); c < n[0]; c += get_num_groups(0)) {
    int s = rcl_accept(g, listener), got = s;
#if MODE == 0
    while ((got = rcl_recv_all(g, s, data, size)) == size) rcl_send_all(g, s, data, size);
#elif MODE == 1
    while ((got = rcl_recv(g, s, data, size)) > 0) received += got;
#else
    for (int i = 0; i < messages; ++i) got = rcl_send_all(g, s, data, size);
#endif
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0 && got < 0) n[5] = got;
    rcl_close(g, s);
  }
  if (get_local_id(0) == 0) atomic_add(n + 6, (int)received);
}
// The same for any number of connections, of which each group polls its share.
__kernel void serve_many(__global rcl_net* net, __global volatile int* n, __global uchar* m) {
  RCL_GROUP(g, net);
  if (get_local_id(0) == 0 && get_group_id(0) == 0) {
    int bound = rcl_one_bind(g, (__global const char*)m, 4096u);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    n[4] = bound;
  }
  if (get_local_id(0) == 0) while (n[4] == 0) ;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  int listener = n[4], size = n[1], messages = n[3];
  int each = n[0] / get_num_groups(0), left = each;
  uint received = 0;
  __global uchar* own = m + 4096 + get_group_id(0) * ((ulong)size + (ulong)each * 16);
  __global int* sockets = (__global int*)own;
  __global uint* wanted = (__global uint*)own + each;
  __global uint* ready = (__global uint*)own + 2 * each;
  __global int* sent = (__global int*)own + 3 * each;
  __global uchar* data = own + (ulong)each * 16;
  for (int c = 0; c < each; ++c) {
    int s = rcl_accept(g, listener);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) { sockets[c] = s; wanted[c] = MODE == 2 ? RCL_POLLOUT : RCL_POLLIN; sent[c] = 0; }
  }
  while (left > 0) {
    int result = rcl_poll(g, sockets, wanted, ready, each, 30000);
    for (int c = 0; c < each; ++c) {
      int s = ready[c] ? sockets[c] : -1;
#if MODE == 0
      int got = rcl_recv_all(g, s, data, size);
      int gone = (s >= 0) & (got < size);
      rcl_send_all(g, gone ? -1 : s, data, size);
#elif MODE == 1
      int got = rcl_recv_nb(g, s, data, size);
      int gone = (s >= 0) & (got == 0);
      received += max(got, 0);
#else
      int got = rcl_send_all(g, s, data, size);
      int gone = (s >= 0) & ((got < 0) | (sent[c] + 1 >= messages));
#endif
      rcl_close(g, gone ? s : -1);
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
      if (get_local_id(0) == 0 && s >= 0) { ++sent[c]; if (gone) sockets[c] = -1; }
      left -= gone;
    }
    if (get_local_id(0) == 0 && result <= 0) n[5] = result - 1000;
    left = result > 0 ? left : 0;
  }
  if (get_local_id(0) == 0) atomic_add(n + 6, (int)received);
}
// The client of another kernel's `serve`: each group has its share of the connections, and one to the host, whose
// address is in m at 2048 and which says when to begin.
__kernel void talk(__global rcl_net* net, __global volatile int* n, __global uchar* m) {
  RCL_GROUP(g, net);
  int size = n[1], messages = n[3], each = n[0] / get_num_groups(0), error = 0, s;
  __global uchar* own = m + 4096 + get_group_id(0) * ((ulong)size + (ulong)each * 16);
  __global int* sockets = (__global int*)own;
  __global uchar* data = own + (ulong)each * 16;
  for (int c = 0; c < each; ++c) {
    do s = rcl_connect(g, (__global const char*)m);
    while (s == -RCL_ECONNREFUSED);  // the server has not begun
    if (get_local_id(0) == 0) sockets[c] = s;
  }
  int host = rcl_connect(g, (__global const char*)m + 2048);
  rcl_send_all(g, host, data, 1);
  error = rcl_recv_all(g, host, data, 1) == 1 ? 0 : -1;
  for (int i = 0; i < messages * each && error == 0; ++i) {
    s = sockets[i % each];
    int done = rcl_send_all(g, s, data, size);
#if MODE == 0
    done = min(done, rcl_recv_all(g, s, data, size));
#endif
    error = done == size ? 0 : min(done, -1);
  }
  for (int c = 0; c < each; ++c) rcl_shutdown(g, sockets[c]);
  for (int c = 0; c < each; ++c) {
    int end = rcl_recv(g, sockets[c], data, 1);
    error = end == 0 ? error : min(end, -1);
    rcl_close(g, sockets[c]);
  }
  rcl_send_all(g, host, data, 1);
  rcl_close(g, host);
  if (get_local_id(0) == 0 && error < 0) n[5] = error;
}
)CL";

}  // namespace remotecl::bench
