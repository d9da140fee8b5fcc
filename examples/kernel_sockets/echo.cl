// An echo server and a client of echo servers, each of which is one kernel.
#include "remotecl/net.cl"

#define PIECE 16384  // bytes that are moved at once

// Each work-group serves at most `most` clients at a time, and all end when so many as expected are gone. `sockets` has
// -1 for each client and the listener behind them, `wanted` RCL_POLLIN for each; both with a part for each work-group.
//
// A call with socket -1 does nothing. So all calls here are made in every round, whether there is anything to do or
// not: branches with barriers in them make compilers for CPUs copy what comes after them.
__kernel void serve(__global rcl_net* net, int listener, int most, int expected, volatile __global int* gone,
                    __global uchar* scratch, __global int* sockets, __global const uint* wanted, __global uint* ready) {
  RCL_GROUP(g, net);
  __local int all_gone;
  scratch += PIECE * get_group_id(0);
  sockets += (most + 1) * get_group_id(0);
  ready += (most + 1) * get_group_id(0);
  int result = 0, is_over = 0;
  while (!is_over && result >= 0) {
    // Other work-groups may serve the last client, so this one looks now and then.
    result = rcl_poll(g, sockets, wanted, ready, most + 1, 10);
    for (int k = ready_before(ready, most); k >= 0; k = ready_before(ready, k)) {
      int socket = sockets[k];
      int got = rcl_recv(g, socket, scratch, PIECE);
      int sent = rcl_send_all(g, got > 0 ? socket : -1, scratch, max(got, 0));
      rcl_close(g, sent > 0 ? -1 : socket);
      if (sent <= 0 && get_local_id(0) == 0) {
        sockets[k] = -1;
        atomic_inc(gone);
      }
      barrier(CLK_GLOBAL_MEM_FENCE);
    }
    int place = free_place(sockets, most);
    int client = rcl_accept_nb(g, place < most && ready[most] ? listener : -1);  // Another group may have been faster.
    if (get_local_id(0) == 0) {
      if (client >= 0) sockets[place] = client;
      sockets[most] = free_place(sockets, most) < most ? listener : -1;
      all_gone = atomic_add(gone, 0) >= expected;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    is_over = all_gone;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

// Counts the bytes that differ.
void compare(__global const uchar* got, __global const uchar* sent, int size, volatile __global int* wrong) {
  for (int k = get_local_id(0); k < size; k += get_local_size(0)) {
    if (got[k] != sent[k]) atomic_inc(wrong);
  }
}

// One message to each of the connections and back. While an echo server's answer is not read, it stops reading: what
// can be sent and what has come is moved for each connection in turn. Returns 0 or an error.
int round_trip(rcl_group g, __global const int* sockets, int connections, __global const uchar* message, int size,
               __global uchar* scratch, __global int* sent, __global int* received, volatile __global int* wrong) {
  for (int k = get_local_id(0); k < connections; k += get_local_size(0)) sent[k] = received[k] = 0;
  barrier(CLK_GLOBAL_MEM_FENCE);
  int open = connections, error = 0;
  for (int k = 0; open > 0 && error == 0; k = (k + 1) % connections) {
    int out = sent[k], in = received[k], socket = in < size ? sockets[k] : -1;  // With -1, calls do nothing.
    int more = rcl_send_nb(g, out < size ? socket : -1, message + out, min(size - out, PIECE));
    int got = rcl_recv_nb(g, socket, scratch, min(size - in, PIECE));
    compare(scratch, message + in, got, wrong);
    if (get_local_id(0) == 0) {
      sent[k] = out + max(more, 0);
      received[k] = in + max(got, 0);
    }
    if (got > 0 && in + got == size) --open;
    if (socket >= 0 && out < size && more < 0 && more != -RCL_EAGAIN) error = more;
    if (socket >= 0 && got <= 0 && got != -RCL_EAGAIN) error = got < 0 ? got : -RCL_ECONNRESET;
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  return error;
}

// All connections of a work-group are opened once; closing them is another kernel's work, so that rounds can be timed.
__kernel void open_connections(__global rcl_net* net, __global const char* address, int connections,
                               __global int* sockets, volatile __global int* status) {
  RCL_GROUP(g, net);
  for (int k = get_group_id(0); k < connections; k += get_num_groups(0)) {
    int socket = rcl_connect(g, address);
    if (get_local_id(0) == 0) {
      sockets[k] = socket;
      if (socket < 0) atomic_cmpxchg(status, 0, socket);
    }
  }
}

// Work-group k has the connections [connections * k / groups, connections * (k + 1) / groups).
__kernel void ping(__global rcl_net* net, __global const int* sockets, int connections, __global const uchar* message,
                   int size, int rounds, __global uchar* scratch, __global int* sent, __global int* received,
                   volatile __global int* status, volatile __global int* wrong) {
  RCL_GROUP(g, net);
  int group = get_group_id(0), groups = get_num_groups(0);
  int first = connections * group / groups, count = connections * (group + 1) / groups - first;
  int error = 0;
  for (int k = 0; k < rounds && error == 0; ++k) {
    error = round_trip(g, sockets + first, count, message, size, scratch + PIECE * group, sent + first,
                       received + first, wrong);
  }
  if (error != 0 && get_local_id(0) == 0) atomic_cmpxchg(status, 0, error);
}

__kernel void close_connections(__global rcl_net* net, __global const int* sockets, int connections) {
  RCL_GROUP(g, net);
  for (int k = get_group_id(0); k < connections; k += get_num_groups(0)) {
    rcl_close(g, sockets[k]);
  }
}
