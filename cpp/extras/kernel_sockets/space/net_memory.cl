// Sockets inside kernels. Include it as "remotecl/net.cl"; the server that builds the program provides it.
//
// A kernel takes a network as an argument and begins, at its own scope and with all items, with RCL_GROUP(g, net):
//
//   __kernel void echo(__global rcl_net* net, __global uchar* scratch) {
//     RCL_GROUP(g, net);
//     int listener = rcl_bind(g, "tcp:0.0.0.0:7000");
//     int s = rcl_accept(g, listener), n;
//     while ((n = rcl_recv(g, s, scratch, 4096)) > 0) if (rcl_send_all(g, s, scratch, n) < 0) break;
//     rcl_close(g, s);
//   }
//
// Calls with a group are collective: all items of the work-group make them with the same arguments, and all get the same
// result, 0 or more or a negative RCL_E... number. rcl_one_...() are for one item alone.

#define RCL_EINTR 4
#define RCL_EBADF 9
#define RCL_EAGAIN 11
#define RCL_EACCES 13
#define RCL_EINVAL 22
#define RCL_EMFILE 24
#define RCL_EPIPE 32
#define RCL_EPROTO 71
#define RCL_EMSGSIZE 90
#define RCL_EOPNOTSUPP 95
#define RCL_EADDRINUSE 98
#define RCL_EADDRNOTAVAIL 99
#define RCL_ENETUNREACH 101
#define RCL_ECONNABORTED 103
#define RCL_ECONNRESET 104
#define RCL_ENOTCONN 107
#define RCL_ETIMEDOUT 110
#define RCL_ECONNREFUSED 111
#define RCL_EHOSTUNREACH 113
#define RCL_EINPROGRESS 115
#define RCL_ECANCELED 125  // the session or the network has ended

// For rcl_poll(). The last two are reported whether they are asked for or not.
#define RCL_POLLIN 1u
#define RCL_POLLOUT 4u
#define RCL_POLLERR 8u
#define RCL_POLLHUP 16u

typedef struct { uint words[16]; } rcl_net;
// Where a datagram comes from or goes to: the port, and the bytes of an IPv6 address or of ::ffff:IPV4.
typedef struct { uint port; uint ip[4]; } rcl_peer;
typedef struct {
  volatile __global uchar* base;
  __local uint* words;
  uint sockets, ring, claims, requests, tails, heads, lines, areas, rings;
} rcl_group;

// Functions with barriers are inlined, because some compilers demand it. What the leader does is not: a kernel with many
// calls would take long to compile. But what takes a pointer to local memory is: PoCL moves a kernel's local variables
// without telling the functions that its compiler has specialized for them.
#define RCL_I static inline __attribute__((always_inline))
#define RCL_I_OVER static inline __attribute__((always_inline, overloadable))
#define RCL_I_CALL static __attribute__((noinline))
#define RCL_I_CALL_OVER static __attribute__((noinline, overloadable))
#define RCL_I_WORDS 16

#define RCL_GROUP(g, net) \
  __local uint g##_words[RCL_I_WORDS]; \
  const rcl_group g = rcl_i_group((net), g##_words)

// ---- Memory that the host sees ----

#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ < 700
#define RCL_I_OLD_GPU
#endif
#endif

// What this item and, after a barrier, its group wrote is seen before what follows; what follows reads nothing older
// than what was read before.
RCL_I void rcl_i_fence(void) {
#if defined(__NV_CL_C_VERSION)
#if defined(RCL_I_OLD_GPU)
  asm volatile("membar.sys;" ::: "memory");
#else
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
#elif defined(__clang__)
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
#else
  mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
}

// Between two looks at what the host writes. A long wait leaves the bus, or the core, to others.
RCL_I void rcl_i_pause(__private uint* looks) {
  if (++*looks < 64u) return;
#if defined(__NV_CL_C_VERSION) && !defined(RCL_I_OLD_GPU)
  asm volatile("nanosleep.u32 400;" ::: "memory");
#elif defined(POCL_DEVICE_ADDRESS_BITS) && defined(__x86_64__) && defined(__linux__)
  // What the kernel waits for may need this core: sched_yield(), and after a while nanosleep().
  long result = *looks < 1024u ? 24 : 35;
  long time[2];
  time[0] = 0;
  time[1] = 20000;
  __asm__ volatile("syscall" : "+a"(result) : "D"(time), "S"(0L) : "rcx", "r11", "memory");
#endif
}

RCL_I void rcl_i_barrier(void) { barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); }

RCL_I volatile __global uint* rcl_i_word(rcl_group g, uint at) { return (volatile __global uint*)(g.base + at); }

RCL_I rcl_group rcl_i_group(__global rcl_net* net, __local uint* words) {
  rcl_group g;
  g.base = (volatile __global uchar*)net;
  g.words = words;
  g.sockets = *rcl_i_word(g, RCL_I_SOCKETS_AT);
  g.ring = *rcl_i_word(g, RCL_I_RING_BYTES_AT);
  g.claims = *rcl_i_word(g, RCL_I_CLAIMS_AT);
  g.requests = *rcl_i_word(g, RCL_I_REQUESTS_AT);
  g.tails = *rcl_i_word(g, RCL_I_SEND_TAILS_AT);
  g.heads = *rcl_i_word(g, RCL_I_RECEIVE_HEADS_AT);
  g.lines = *rcl_i_word(g, RCL_I_LINES_AT);
  g.areas = *rcl_i_word(g, RCL_I_AREAS_AT);
  g.rings = *rcl_i_word(g, RCL_I_RINGS_AT);
  return g;
}

RCL_I uint rcl_i_item(void) {
  return get_local_id(0) + get_local_size(0) * (get_local_id(1) + get_local_size(1) * get_local_id(2));
}
RCL_I uint rcl_i_items(void) { return get_local_size(0) * get_local_size(1) * get_local_size(2); }

RCL_I uint rcl_i_index(int s) { return (uint)s & ((1u << RCL_I_INDEX_BITS) - 1u); }
RCL_I volatile __global uint* rcl_i_line(rcl_group g, uint index) {
  return rcl_i_word(g, g.lines + index * RCL_I_LINE_SIZE);
}
RCL_I volatile __global uint* rcl_i_request(rcl_group g, uint index) { return rcl_i_word(g, g.requests + 4u * index); }
RCL_I volatile __global uint* rcl_i_tail(rcl_group g, uint index) { return rcl_i_word(g, g.tails + 4u * index); }
RCL_I volatile __global uint* rcl_i_head(rcl_group g, uint index) { return rcl_i_word(g, g.heads + 4u * index); }
// The generation for which kernels have taken the socket; with the highest bit once they have closed it.
RCL_I volatile __global uint* rcl_i_claimed(rcl_group g, uint index) { return rcl_i_word(g, g.claims + 4u * index); }
RCL_I volatile __global uchar* rcl_i_send_ring(rcl_group g, uint index) {
  return g.base + g.rings + (ulong)index * 2u * g.ring;
}
RCL_I volatile __global uchar* rcl_i_receive_ring(rcl_group g, uint index) { return rcl_i_send_ring(g, index) + g.ring; }

// {receive tail, send head, state, generation} of a socket.
RCL_I uint4 rcl_i_look(rcl_group g, uint index) { return *(volatile __global uint4*)rcl_i_line(g, index); }

// What is wrong with a socket whose line was read, or 0.
RCL_I int rcl_i_wrong(rcl_group g, int s, uint4 line) {
  if (line.z & RCL_I_STOPPED) return -RCL_ECANCELED;
  if ((line.w & RCL_I_GENERATION_MASK) != (uint)s >> RCL_I_INDEX_BITS || (line.z & RCL_I_CLOSING)) return -RCL_EBADF;
  return 0;
}
// The same for calls that are rare: also whether a kernel has closed it and the host has not heard of it.
RCL_I int rcl_i_gone(rcl_group g, int s, uint4 line) {
  const int wrong = rcl_i_wrong(g, s, line);
  return wrong || *rcl_i_claimed(g, rcl_i_index(s)) == line.w ? wrong : -RCL_EBADF;
}
RCL_I int rcl_i_error(rcl_group g, uint index) {
  const int error = (int)rcl_i_line(g, index)[RCL_I_ERROR];
  return error > 0 ? -error : -RCL_EPROTO;
}
RCL_I int rcl_i_is_handle(rcl_group g, int s) { return s >= 0 && rcl_i_index(s) < g.sockets; }

