#include "extras/kernel_sockets/space/space_fixture.h"

namespace remotecl::testing {
namespace {

// Each kernel has the same arguments: `n`, of which the tests read results, and `m`, which begins with an address and
// has data at kData.
constexpr const char* kKernels = R"CL(
#define ARGUMENTS __global rcl_net* net, __global volatile int* n, __global uchar* m
#define DATA 4096
#define FIRST (get_local_id(0) == 0)
#define POLL_ARRAYS \
  __global int* sockets = (__global int*)(m + DATA); \
  __global uint* wanted = (__global uint*)(m + 2 * DATA); \
  __global uint* ready = (__global uint*)(m + 3 * DATA);
#define TEXT ((__global const char*)m)

// Serves n[1] connections to the address, one after the other.
__kernel void echo(ARGUMENTS) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, TEXT);
  if (FIRST) n[0] = listener < 0 ? listener : max(1, rcl_one_port(g, listener));
  int count = n[1];
  for (int i = 0; i < count && listener >= 0; ++i) {
    int s = rcl_accept(g, listener);
    int got;
    while ((got = rcl_recv(g, s, m + DATA, 65536)) > 0) {
      if (rcl_send_all(g, s, m + DATA, got) < 0) break;
    }
    if (FIRST) n[2] = got;
    rcl_close(g, s);
  }
  rcl_close(g, listener);
}

// One group listens, and all accept: n[1] connections each.
__kernel void serve(ARGUMENTS) {
  RCL_GROUP(g, net);
  if (FIRST && get_group_id(0) == 0) {
    int listener = rcl_one_bind(g, TEXT, 64u);
    n[2] = listener;
    n[0] = rcl_one_port(g, listener);
  }
  if (FIRST) while (n[2] == -1) ;
  barrier(CLK_GLOBAL_MEM_FENCE);
  __global uchar* own = m + DATA + get_group_id(0) * 65536;
  int count = n[1];
  for (int i = 0; i < count; ++i) {
    int s = rcl_accept(g, n[2]);
    int got;
    while ((got = rcl_recv(g, s, own, 65536)) > 0) rcl_send_all(g, s, own, got);
    if (FIRST && (s < 0 || got < 0)) n[3] = s < 0 ? s : got;
    rcl_close(g, s);
  }
}

// Connects, sends n[1] bytes in messages of n[2], ends its sending, and reads until the end. n[3]: how many came back,
// n[4]: how many of them are wrong, n[5]: what went wrong.
__kernel void client(ARGUMENTS) {
  RCL_GROUP(g, net);
  int s = rcl_connect(g, TEXT);
  int total = n[1], size = n[2], items = get_local_size(0), wrong = 0, came = 0, got = s;
  for (int done = 0; s >= 0 && done < total; done += size) {
    for (int i = get_local_id(0); i < size; i += items) m[DATA + i] = (uchar)((done + i) * 7 + ((done + i) >> 8));
    got = rcl_send_all(g, s, m + DATA, size);
    if (got < 0) break;
    int back = rcl_recv_all(g, s, m + DATA + size, size);
    if (back != size) { got = back < 0 ? back : -1; break; }
    for (int i = get_local_id(0); i < size; i += items)
      if (m[DATA + size + i] != (uchar)((done + i) * 7 + ((done + i) >> 8))) ++wrong;
    came += size;
  }
  if (got >= 0) got = rcl_shutdown(g, s);
  if (got >= 0) got = rcl_recv(g, s, m + DATA, 1);
  rcl_close(g, s);
  if (FIRST) { n[3] = came; n[5] = s < 0 ? s : got; }
  if (wrong) atomic_add((volatile __global int*)n + 4, wrong);
}

// What calls return that must fail: n[i].
__kernel void errors(ARGUMENTS) {
  RCL_GROUP(g, net);
  int r[12];
  r[0] = rcl_connect(g, TEXT);
  r[1] = rcl_connect(g, "nonsense");
  r[2] = rcl_connect(g, "tcp:refused.invalid:80");
  r[3] = rcl_connect(g, "rcl:nobody");
  r[4] = rcl_recv(g, 12345678, m + DATA, 4);
  r[5] = rcl_send(g, -1, m + DATA, 4);
  int listener = rcl_bind(g, "tcp:127.0.0.1:0");
  r[6] = rcl_accept_nb(g, listener);
  r[7] = rcl_send(g, listener, m + DATA, 4);
  rcl_close(g, listener);
  r[8] = rcl_accept(g, listener);
  r[9] = rcl_close(g, listener);
  int name = rcl_bind(g, "rcl:twice");
  r[10] = rcl_bind(g, "rcl:twice");
  r[11] = rcl_accept(g, rcl_connect(g, "rcl:twice"));
  rcl_close(g, name);
  if (FIRST) for (int i = 0; i < 12; ++i) n[i] = r[i];
}

// Sends n[1] bytes and closes at once.
__kernel void send_and_close(ARGUMENTS) {
  RCL_GROUP(g, net);
  int s = rcl_connect(g, TEXT), size = n[1];
  for (int i = get_local_id(0); i < size; i += get_local_size(0)) m[DATA + i] = (uchar)(i * 7 + (i >> 8));
  int sent = rcl_send_all(g, s, m + DATA, size);
  rcl_close(g, s);
  if (FIRST) n[0] = sent;
}

// Reads until the end and only then answers, with the number of bytes.
__kernel void count_bytes(ARGUMENTS) {
  RCL_GROUP(g, net);
  int s = rcl_connect(g, TEXT), got, total = 0;
  while ((got = rcl_recv(g, s, m + DATA, 4096)) > 0) total += got;
  __local int answer;
  if (FIRST) answer = total;
  int sent = rcl_send(g, s, &answer, 4);
  rcl_close(g, s);
  if (FIRST) { n[0] = total; n[1] = got; n[2] = sent; }
}

// Echoes over n[1] connections at once, which it polls, until all have ended. n[2]: echoed bytes. n[3]: of a poll that
// had to time out; n[4]: how long that took. n[5]: of an accept when there is nobody any more.
__kernel void poll_many(ARGUMENTS) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, TEXT);
  POLL_ARRAYS
  __global uchar* data = m + 4 * DATA;
  int count = n[1], left = count, echoed = 0;
  if (FIRST) { sockets[0] = listener; wanted[0] = RCL_POLLIN; }
  uint begin = rcl_time_ms(g);
  int idle = rcl_poll(g, sockets, wanted, ready, 1, 50);
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (FIRST) { n[3] = idle; n[4] = (int)(rcl_time_ms(g) - begin); n[0] = rcl_one_port(g, listener); }
  for (int i = 0; i < count; ++i) {
    rcl_poll(g, sockets, wanted, ready, 1, 20000);
    int s = rcl_accept_nb(g, listener);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (FIRST) { sockets[i + 1] = s; wanted[i + 1] = RCL_POLLIN; }
  }
  int nobody = rcl_accept_nb(g, listener);
  while (left > 0) {
    int result = rcl_poll(g, sockets + 1, wanted + 1, ready + 1, count, 20000);
    int i = 1;
    while (i <= count && !ready[i]) ++i;
    int s = i <= count ? sockets[i] : -1;
    int got = rcl_recv_nb(g, s, data, 65536);
    int sent = rcl_send_all(g, s, data, max(got, 0));
    int gone = got == 0 || result <= 0;
    rcl_close(g, gone ? s : -1);
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (FIRST && gone) sockets[i] = -1;
    left -= gone;
    echoed += sent;
  }
  rcl_close(g, listener);
  if (FIRST) { n[2] = echoed; n[5] = nobody; }
}

// Accepts what a poll reports, one after the other, and says how often nothing was there.
__kernel void accept_polled(ARGUMENTS) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, TEXT);
  POLL_ARRAYS
  int count = n[1], accepted = 0, missing = 0;
  if (FIRST) { sockets[0] = listener; wanted[0] = RCL_POLLIN; }
  barrier(CLK_GLOBAL_MEM_FENCE);
  if (FIRST) n[0] = rcl_one_port(g, listener);
  while (accepted < count) {
    for (int i = 1; i <= 40; ++i) {
      rcl_poll(g, sockets, wanted, ready, 1, -1);
      int s = rcl_accept_nb(g, listener);
      missing += s < 0;
      barrier(CLK_GLOBAL_MEM_FENCE);
      if (FIRST) sockets[i] = s;
      i -= s < 0;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int i = 1; i <= 40; ++i) rcl_close(g, sockets[i]);
    accepted += 40;
  }
  rcl_close(g, listener);
  if (FIRST) n[2] = missing;
}

// Waits for ever.
__kernel void wait_for_ever(ARGUMENTS) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, "tcp:127.0.0.1:0");
  if (FIRST) n[0] = rcl_one_port(g, listener);
  int s = rcl_accept(g, listener);
  int after = rcl_connect(g, "tcp:127.0.0.1:1");
  if (FIRST) { n[1] = s; n[2] = after; }
}

// Receives n[1] datagrams and sends each back to where it came from, then sends TEXT how many there were.
__kernel void datagrams(ARGUMENTS) {
  RCL_GROUP(g, net);
  int s = rcl_bind(g, "udp:127.0.0.1:0");
  if (FIRST) n[0] = s < 0 ? s : rcl_one_port(g, s);
  int count = n[1], got = 0, bytes = 0;
  rcl_peer peer;
  for (int i = 0; i < count && got >= 0; ++i) {
    got = rcl_recvfrom(g, s, m + DATA, 2000, &peer);
    bytes += got;
    if (got >= 0) rcl_sendto(g, s, m + DATA, got, &peer);
  }
  int stranger = 0;
  peer.port = 9;
  int resolved = rcl_resolve(g, s, TEXT, &peer);
  __local int answer;
  if (FIRST) answer = bytes;
  int sent = rcl_sendto(g, s, &answer, 4, &peer);
  int large = rcl_sendto(g, s, m, 100000, &peer);
  int c = rcl_connect(g, TEXT);
  int connected = rcl_send(g, c, &answer, 4);
  rcl_close(g, c);
  rcl_close(g, s);
  if (FIRST) { n[2] = bytes; n[3] = resolved; n[4] = sent; n[5] = large; n[6] = connected; }
}

// A datagram to where nobody allowed it ends the socket.
__kernel void stray_datagram(ARGUMENTS) {
  RCL_GROUP(g, net);
  int s = rcl_bind(g, "udp:127.0.0.1:0");
  rcl_peer peer;
  peer.port = 9; peer.ip[0] = peer.ip[1] = 0; peer.ip[2] = 0xffff0000u; peer.ip[3] = 0x0100007fu;
  rcl_peer other;
  int refused = rcl_resolve(g, s, "udp:refused.invalid:9", &other);
  int sent = rcl_sendto(g, s, m + DATA, 4, &peer);
  int got = rcl_recv(g, s, m + DATA, 4);
  rcl_close(g, s);
  if (FIRST) { n[0] = sent; n[1] = got; n[2] = refused; }
}

// Copies a stream from connection to connection without scratch memory.
__kernel void forward(ARGUMENTS) {
  RCL_GROUP(g, net);
  int listener = rcl_bind(g, "tcp:127.0.0.1:0");
  if (FIRST) n[0] = rcl_one_port(g, listener);
  int from = rcl_accept(g, listener), to = rcl_accept(g, listener), there = 1, room = 1, total = 0;
  while (1) {
    volatile __global uchar* source = rcl_recv_peek(g, from, &there);
    if (there <= 0) break;
    volatile __global uchar* target = rcl_send_reserve(g, to, &room);
    if (room <= 0) break;
    int size = min(there, room);
    for (int i = get_local_id(0); i < size; i += get_local_size(0)) target[i] = source[i];
    rcl_send_commit(g, to, size);
    rcl_recv_release(g, from, size);
    total += size;
  }
  rcl_close(g, from);
  rcl_close(g, to);
  if (FIRST) { n[1] = total; n[2] = there; n[3] = room; }
}

// Each item is a client of its own: it sends n[1] numbers and reads them back. n[2]: how many went wrong.
__kernel void items_alone(ARGUMENTS) {
  RCL_GROUP(g, net);
  int s = rcl_one_connect(g, TEXT), wrong = s < 0, count = n[1];
  for (int i = 0; s >= 0 && i < count; ++i) {
    __global int* own = (__global int*)(m + DATA) + get_global_id(0) * 2;
    own[0] = (int)get_global_id(0) * 1000 + i;
    own[1] = -1;
    int done = 0;
    if (rcl_one_send(g, s, own, 4) != 4) ++wrong;
    while (done < 4) {
      int got = rcl_one_recv(g, s, (__global uchar*)(own + 1) + done, 4 - done);
      if (got <= 0) { ++wrong; break; }
      done += got;
    }
    if (own[1] != own[0]) ++wrong;
  }
  if (s >= 0) rcl_one_close(g, s);
  if (wrong) atomic_add((volatile __global int*)n + 2, wrong);
}

// Begins to connect, polls until the connection is there or has failed. n[0]: the events, n[1]: what send says.
__kernel void connect_later(ARGUMENTS) {
  RCL_GROUP(g, net);
  __local int s;
  __local uint wanted, ready;
  int handle = rcl_connect_nb(g, TEXT);
  if (FIRST) { s = handle; wanted = RCL_POLLOUT; }
  barrier(CLK_LOCAL_MEM_FENCE);
  int result = rcl_poll(g, &s, &wanted, &ready, 1, 10000);
  int sent = rcl_send_nb(g, handle, m, 4);
  rcl_close(g, handle);
  if (FIRST) { n[0] = result < 0 ? result : (int)ready; n[1] = sent; }
}

// Each group opens and closes n[1] connections. n[2]: the last error, n[3]: how many worked.
__kernel void open_and_close(ARGUMENTS) {
  RCL_GROUP(g, net);
  int count = n[1], error = 0, worked = 0;
  for (int i = 0; i < count && !error; ++i) {
    int s = rcl_connect(g, TEXT);
    if (s < 0) { error = s; break; }
    if (rcl_send(g, s, m, 1) == 1 && rcl_recv(g, s, m + DATA + 64 * get_group_id(0), 1) == 1) ++worked;
    error = rcl_close(g, s);
  }
  if (FIRST && error) n[2] = error;
  if (FIRST) atomic_add((volatile __global int*)n + 3, worked);
}
)CL";

}  // namespace

KernelProgram& NetworkTest::program() {
  static KernelProgram program(device(), kKernels);
  return program;
}

}  // namespace remotecl::testing
