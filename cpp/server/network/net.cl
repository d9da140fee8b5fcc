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
  // sched_yield(): what the kernel waits for may need this core.
  long result = 24;
  __asm__ volatile("syscall" : "+a"(result) : : "rcx", "r11", "memory");
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

// ---- Requests ----

// Waits until the host has taken the socket's last request. Returns 0 or -RCL_ECANCELED.
RCL_I_CALL int rcl_i_taken(rcl_group g, uint index) {
  const uint number = *rcl_i_request(g, index);
  uint looks = 0;
  while (rcl_i_line(g, index)[RCL_I_REPLY] != number) {
    rcl_i_pause(&looks);
    if (*rcl_i_word(g, RCL_I_STOP_AT)) return -RCL_ECANCELED;
  }
  rcl_i_fence();
  return 0;
}

// REQUIRES: rcl_i_taken() returned 0, and the request's text is in its place.
RCL_I_CALL void rcl_i_post(rcl_group g, uint index, uint operation, uint first, uint second) {
  const uint area = g.areas + index * RCL_I_REQUEST_SIZE;
  *rcl_i_word(g, area + RCL_I_OPERATION) = operation;
  *rcl_i_word(g, area + RCL_I_FIRST) = first;
  *rcl_i_word(g, area + RCL_I_SECOND) = second;
  rcl_i_fence();
  *rcl_i_request(g, index) = *rcl_i_request(g, index) + 1u;
}

// A free socket: its handle, or a negative number. If all are in use and some are closing, waits for one.
RCL_I_CALL int rcl_i_claim(rcl_group g, int waits) {
  volatile __global uint* cursor = rcl_i_word(g, RCL_I_CURSOR_AT);
  uint index = atomic_inc(cursor) % g.sockets;
  uint looks = 0;
  int closing = 1;
  while (closing) {
    rcl_i_pause(&looks);
    closing = 0;
    for (uint i = 0; i < g.sockets; ++i) {
      const uint4 line = rcl_i_look(g, index);
      volatile __global uint* claim = rcl_i_claimed(g, index);
      const uint claimed = *claim;
      if (line.z & RCL_I_STOPPED) return -RCL_ECANCELED;
      if ((claimed & ~RCL_I_CLOSED) != line.w && atomic_cmpxchg(claim, claimed, line.w) == claimed) {
        *rcl_i_tail(g, index) = 0u;
        *rcl_i_head(g, index) = 0u;
        return (int)(index | (line.w & RCL_I_GENERATION_MASK) << RCL_I_INDEX_BITS);
      }
      if (claimed & RCL_I_CLOSED) closing = waits;
      index = index + 1u == g.sockets ? 0u : index + 1u;
    }
  }
  return -RCL_EMFILE;
}

RCL_I_CALL int rcl_i_close(rcl_group g, int s) {
  if (!rcl_i_is_handle(g, s)) return -RCL_EBADF;
  const uint index = rcl_i_index(s);
  const uint4 line = rcl_i_look(g, index);
  int wrong = rcl_i_gone(g, s, line);
  if (wrong == 0) wrong = rcl_i_taken(g, index);
  if (wrong) return wrong;
  *rcl_i_claimed(g, index) = line.w | RCL_I_CLOSED;
  rcl_i_post(g, index, RCL_I_CLOSE, 0u, 0u);
  return 0;
}

// Waits until the socket has one of these states or has failed; if it has failed, closes it.
RCL_I_CALL int rcl_i_opened(rcl_group g, int s, uint states) {
  const uint index = rcl_i_index(s);
  uint4 line = rcl_i_look(g, index);
  uint looks = 0;
  while (!(line.z & (states | RCL_I_FAILED | RCL_I_STOPPED))) {
    rcl_i_pause(&looks);
    line = rcl_i_look(g, index);
  }
  if (line.z & RCL_I_STOPPED) return -RCL_ECANCELED;
  rcl_i_fence();
  if (!(line.z & RCL_I_FAILED)) return s;
  const int error = rcl_i_error(g, index);
  rcl_i_close(g, s);
  return error;
}

RCL_I_CALL int rcl_i_accept(rcl_group g, int listener, int waits) {
  if (!rcl_i_is_handle(g, listener)) return -RCL_EBADF;
  const uint4 line = rcl_i_look(g, rcl_i_index(listener));
  const int wrong = rcl_i_gone(g, listener, line);
  if (wrong) return wrong;
  if (!(line.z & RCL_I_LISTENING)) return -RCL_EINVAL;
  if (!waits && !(line.z & RCL_I_PENDING)) return -RCL_EAGAIN;
  const int s = rcl_i_claim(g, waits);
  if (s < 0) return s;
  rcl_i_post(g, rcl_i_index(s), RCL_I_ACCEPT, (uint)listener, (uint)!waits);
  return rcl_i_opened(g, s, RCL_I_CONNECTED);
}

// The length of the text, or -1 if it is too long. Copies it into the socket's request.
#define RCL_I_TEXT(SPACE) \
  RCL_I_CALL_OVER int rcl_i_text(rcl_group g, uint index, SPACE const char* text) { \
    const uint area = g.areas + index * RCL_I_REQUEST_SIZE; \
    uint length = 0; \
    while (length <= RCL_I_TEXT_MAX && text[length]) ++length; \
    if (length > RCL_I_TEXT_MAX) return -1; \
    for (uint i = 0; i < length; ++i) g.base[area + RCL_I_TEXT_OFFSET + i] = (uchar)text[i]; \
    *rcl_i_word(g, area + RCL_I_TEXT_LENGTH) = length; \
    return (int)length; \
  } \
  RCL_I_CALL_OVER int rcl_i_open(rcl_group g, uint operation, SPACE const char* text, uint first, uint states) { \
    const int s = rcl_i_claim(g, 1); \
    if (s < 0) return s; \
    if (rcl_i_text(g, rcl_i_index(s), text) < 0) *rcl_i_word(g, g.areas + rcl_i_index(s) * RCL_I_REQUEST_SIZE + RCL_I_TEXT_LENGTH) = ~0u; \
    rcl_i_post(g, rcl_i_index(s), operation, first, 0u); \
    return states ? rcl_i_opened(g, s, states) : s; \
  } \
  RCL_I_CALL_OVER int rcl_i_resolve(rcl_group g, int s, SPACE const char* text) { \
    if (!rcl_i_is_handle(g, s)) return -RCL_EBADF; \
    const uint index = rcl_i_index(s); \
    const uint4 line = rcl_i_look(g, index); \
    int wrong = rcl_i_gone(g, s, line); \
    if (wrong == 0 && !(line.z & RCL_I_DATAGRAM)) wrong = -RCL_EOPNOTSUPP; \
    if (wrong == 0) wrong = rcl_i_taken(g, index); \
    if (wrong == 0 && rcl_i_text(g, index, text) < 0) wrong = -RCL_EINVAL; \
    if (wrong) return wrong; \
    rcl_i_post(g, index, RCL_I_RESOLVE, 0u, 0u); \
    wrong = rcl_i_taken(g, index); \
    return wrong ? wrong : (int)rcl_i_line(g, index)[RCL_I_VALUE]; \
  }
RCL_I_TEXT(__constant)
RCL_I_TEXT(__global)

RCL_I_CALL int rcl_i_shutdown(rcl_group g, int s) {
  if (!rcl_i_is_handle(g, s)) return -RCL_EBADF;
  const uint index = rcl_i_index(s);
  int wrong = rcl_i_gone(g, s, rcl_i_look(g, index));
  if (wrong == 0) wrong = rcl_i_taken(g, index);
  if (wrong) return wrong;
  rcl_i_post(g, index, RCL_I_SHUTDOWN, 0u, 0u);
  wrong = rcl_i_taken(g, index);
  return wrong ? wrong : (int)rcl_i_line(g, index)[RCL_I_VALUE];
}

RCL_I_CALL int rcl_i_port(rcl_group g, int s) {
  if (!rcl_i_is_handle(g, s)) return -RCL_EBADF;
  const int wrong = rcl_i_gone(g, s, rcl_i_look(g, rcl_i_index(s)));
  return wrong ? wrong : (int)rcl_i_line(g, rcl_i_index(s))[RCL_I_PORT];
}

// ---- Rings ----

// A piece of a ring: how many bytes (or a negative number), from where, where the ring's position is afterwards, and
// whether it is a datagram.
typedef struct { int size; uint from, next, datagram; } rcl_piece;

RCL_I uint rcl_i_record(uint size) {
  return RCL_I_RECORD_HEADER + (size + RCL_I_RECORD_HEADER - 1u) / RCL_I_RECORD_HEADER * RCL_I_RECORD_HEADER;
}

RCL_I rcl_piece rcl_i_no_piece(int result) {
  rcl_piece piece;
  piece.size = result;
  piece.from = piece.next = piece.datagram = 0u;
  return piece;
}

// What has been received, at most `size` bytes. Waits for it if `waits`.
RCL_I_CALL rcl_piece rcl_i_receivable(rcl_group g, int s, uint size, int waits) {
  if (!rcl_i_is_handle(g, s)) return rcl_i_no_piece(-RCL_EBADF);
  const uint index = rcl_i_index(s);
  const uint head = *rcl_i_head(g, index);
  rcl_piece piece = rcl_i_no_piece(0);
  uint looks = 0;
  while (1) {
    rcl_i_pause(&looks);
    uint4 line = rcl_i_look(g, index);
    piece.size = rcl_i_wrong(g, s, line);
    if (piece.size < 0) return piece;
    if (line.x == head && (line.z & (RCL_I_END_OF_STREAM | RCL_I_FAILED))) {
      // The last bytes were published before the state was.
      rcl_i_fence();
      line.x = *rcl_i_line(g, index);
      if (line.x == head) {
        piece.size = line.z & RCL_I_END_OF_STREAM ? 0 : rcl_i_error(g, index);
        return piece;
      }
    }
    if (line.x != head) {
      rcl_i_fence();
      uint there = line.x - head;
      if (line.z & RCL_I_DATAGRAM) {
        there = *(volatile __global uint*)(rcl_i_receive_ring(g, index) + (head & (g.ring - 1u)));
        piece.datagram = 1u;
        piece.from = head + RCL_I_RECORD_HEADER;
        piece.next = head + rcl_i_record(there);
        piece.size = (int)min(there, size);
      } else {
        piece.size = (int)min(there, size);
        piece.from = head;
        piece.next = head + (uint)piece.size;
      }
      return piece;
    }
    piece.size = -RCL_EAGAIN;
    if (!waits) return piece;
    if (!(line.z & RCL_I_CONNECTED) && (line.z & RCL_I_LISTENING)) {
      piece.size = -RCL_ENOTCONN;
      return piece;
    }
  }
}

// Room for at most `size` bytes, or for a datagram of so many.
RCL_I_CALL rcl_piece rcl_i_sendable(rcl_group g, int s, uint size, int waits) {
  if (!rcl_i_is_handle(g, s)) return rcl_i_no_piece(-RCL_EBADF);
  const uint index = rcl_i_index(s);
  const uint tail = *rcl_i_tail(g, index);
  rcl_piece piece = rcl_i_no_piece(0);
  uint looks = 0;
  while (1) {
    rcl_i_pause(&looks);
    const uint4 line = rcl_i_look(g, index);
    piece.size = rcl_i_wrong(g, s, line);
    if (piece.size < 0) return piece;
    if (line.z & (RCL_I_FAILED | RCL_I_LISTENING)) {
      piece.size = line.z & RCL_I_FAILED ? rcl_i_error(g, index) : -RCL_ENOTCONN;
      return piece;
    }
    if (line.z & RCL_I_CONNECTED) {
      const uint room = g.ring - (tail - line.y);
      if (line.z & RCL_I_DATAGRAM) {
        if (size > 65507u || rcl_i_record(size) > g.ring) {
          piece.size = -RCL_EMSGSIZE;
          return piece;
        }
        if (rcl_i_record(size) <= room) {
          piece.size = (int)size;
          piece.datagram = 1u;
          piece.from = tail + RCL_I_RECORD_HEADER;
          piece.next = tail + rcl_i_record(size);
          return piece;
        }
      } else if (room != 0u || size == 0u) {
        piece.size = (int)min(room, size);
        piece.from = tail;
        piece.next = tail + (uint)piece.size;
        return piece;
      }
    }
    if (!waits) {
      piece.size = -RCL_EAGAIN;
      return piece;
    }
  }
}

// The header before a datagram: its size, port and address. Port 0: to where the socket is connected.
RCL_I void rcl_i_write_header(rcl_group g, int s, rcl_piece piece, rcl_peer peer) {
  volatile __global uint* header = (volatile __global uint*)(
      rcl_i_send_ring(g, rcl_i_index(s)) + ((piece.from - RCL_I_RECORD_HEADER) & (g.ring - 1u)));
  header[0] = (uint)piece.size;
  header[RCL_I_RECORD_PORT / 4u] = peer.port;
  for (uint i = 0; i < 4u; ++i) header[RCL_I_RECORD_IP / 4u + i] = peer.ip[i];
}
RCL_I rcl_peer rcl_i_read_header(rcl_group g, int s, rcl_piece piece) {
  volatile __global uint* header = (volatile __global uint*)(
      rcl_i_receive_ring(g, rcl_i_index(s)) + ((piece.from - RCL_I_RECORD_HEADER) & (g.ring - 1u)));
  rcl_peer peer;
  peer.port = header[RCL_I_RECORD_PORT / 4u];
  for (uint i = 0; i < 4u; ++i) peer.ip[i] = header[RCL_I_RECORD_IP / 4u + i];
  return peer;
}
RCL_I rcl_peer rcl_i_no_peer(void) {
  rcl_peer peer;
  peer.port = peer.ip[0] = peer.ip[1] = peer.ip[2] = peer.ip[3] = 0u;
  return peer;
}

// One item of `items` copies its part: bytes up to an aligned place, then words as wide as both sides allow.
// Four at a time, so that a read over the bus does not wait for the one before.
#define RCL_I_AT(SPACE, TYPE, base, offset) *(SPACE TYPE*)((base) + (offset))
#define RCL_I_STEPS(TO_SPACE, FROM_SPACE, TYPE, BEGIN, END) \
  do { \
    const uint step = items * (uint)sizeof(TYPE); \
    uint at = (BEGIN) + item * (uint)sizeof(TYPE); \
    for (; at + 3u * step < (END); at += 4u * step) { \
      const TYPE a = RCL_I_AT(FROM_SPACE, TYPE, from, at), b = RCL_I_AT(FROM_SPACE, TYPE, from, at + step); \
      const TYPE c = RCL_I_AT(FROM_SPACE, TYPE, from, at + 2u * step), d = RCL_I_AT(FROM_SPACE, TYPE, from, at + 3u * step); \
      RCL_I_AT(TO_SPACE, TYPE, to, at) = a; \
      RCL_I_AT(TO_SPACE, TYPE, to, at + step) = b; \
      RCL_I_AT(TO_SPACE, TYPE, to, at + 2u * step) = c; \
      RCL_I_AT(TO_SPACE, TYPE, to, at + 3u * step) = d; \
    } \
    for (; at < (END); at += step) RCL_I_AT(TO_SPACE, TYPE, to, at) = RCL_I_AT(FROM_SPACE, TYPE, from, at); \
  } while (0)
#define RCL_I_COPY(TO_SPACE, FROM_SPACE) \
  RCL_I_OVER void rcl_i_copy(TO_SPACE uchar* to, FROM_SPACE uchar* from, uint size, uint item, uint items) { \
    const uint differ = (uint)(size_t)to ^ (uint)(size_t)from; \
    const uint width = differ & 3u ? 1u : differ & 15u ? 4u : 16u; \
    const uint ahead = min(size, (0u - (uint)(size_t)to) & (width - 1u)); \
    const uint end = ahead + ((size - ahead) & ~(width - 1u)); \
    RCL_I_STEPS(TO_SPACE, FROM_SPACE, uchar, 0u, ahead); \
    if (width == 16u) { \
      RCL_I_STEPS(TO_SPACE, FROM_SPACE, uint4, ahead, end); \
    } else if (width == 4u) { \
      RCL_I_STEPS(TO_SPACE, FROM_SPACE, uint, ahead, end); \
    } else { \
      RCL_I_STEPS(TO_SPACE, FROM_SPACE, uchar, ahead, end); \
    } \
    RCL_I_STEPS(TO_SPACE, FROM_SPACE, uchar, end, size); \
  }
RCL_I_COPY(__global, volatile __global)
RCL_I_COPY(__local, volatile __global)
RCL_I_COPY(volatile __global, const __global)
RCL_I_COPY(volatile __global, const __local)

#define RCL_I_RING_COPIES(SPACE, CALL) \
  CALL void rcl_i_from_ring(rcl_group g, int s, rcl_piece piece, SPACE void* data, uint item, uint items) { \
    volatile __global uchar* ring = rcl_i_receive_ring(g, rcl_i_index(s)); \
    const uint size = (uint)piece.size, begin = piece.from & (g.ring - 1u), first = min(size, g.ring - begin); \
    rcl_i_copy((SPACE uchar*)data, ring + begin, first, item, items); \
    if (first < size) rcl_i_copy((SPACE uchar*)data + first, ring, size - first, item, items); \
  } \
  CALL void rcl_i_to_ring(rcl_group g, int s, rcl_piece piece, SPACE const void* data, uint item, \
                                uint items) { \
    volatile __global uchar* ring = rcl_i_send_ring(g, rcl_i_index(s)); \
    const uint size = (uint)piece.size, begin = piece.from & (g.ring - 1u), first = min(size, g.ring - begin); \
    rcl_i_copy(ring + begin, (SPACE const uchar*)data, first, item, items); \
    if (first < size) rcl_i_copy(ring, (SPACE const uchar*)data + first, size - first, item, items); \
  }
RCL_I_RING_COPIES(__global, RCL_I_CALL_OVER)
RCL_I_RING_COPIES(__local, RCL_I_OVER)

// The ring's position becomes visible to the host, after what was copied.
RCL_I void rcl_i_publish(volatile __global uint* word, uint position) {
  rcl_i_fence();
  *word = position;
}
RCL_I void rcl_i_received(rcl_group g, int s, uint position) {
  rcl_i_publish(rcl_i_head(g, rcl_i_index(s)), position);
}
RCL_I void rcl_i_sent(rcl_group g, int s, uint position) {
  rcl_i_publish(rcl_i_tail(g, rcl_i_index(s)), position);
}

// ---- Collective calls ----

// The leader's words: a piece in four, then a peer in five.
RCL_I void rcl_i_tell(rcl_group g, rcl_piece piece) {
  g.words[0] = (uint)piece.size;
  g.words[1] = piece.from;
  g.words[2] = piece.next;
  g.words[3] = piece.datagram;
}
RCL_I rcl_piece rcl_i_told(rcl_group g) {
  rcl_piece piece;
  piece.size = (int)g.words[0];
  piece.from = g.words[1];
  piece.next = g.words[2];
  piece.datagram = g.words[3];
  return piece;
}

// What the leader got, for all items. No item reads the last call's words any more when the leader writes them.
#define RCL_I_BY_LEADER(result, call) \
  rcl_i_barrier(); \
  if (rcl_i_item() == 0u) g.words[0] = (uint)(call); \
  rcl_i_barrier(); \
  const int result = (int)g.words[0]

#define RCL_I_OPENING(SPACE) \
  /* Connects: a socket, once it is connected. */ \
  RCL_I_OVER int rcl_connect(rcl_group g, SPACE const char* address) { \
    RCL_I_BY_LEADER(s, rcl_i_open(g, RCL_I_CONNECT, address, 0u, RCL_I_CONNECTED)); \
    return s; \
  } \
  /* Begins to connect: rcl_poll() says RCL_POLLOUT once it is connected. */ \
  RCL_I_OVER int rcl_connect_nb(rcl_group g, SPACE const char* address) { \
    RCL_I_BY_LEADER(s, rcl_i_open(g, RCL_I_CONNECT, address, 0u, 0u)); \
    return s; \
  } \
  /* A listening socket, or with udp: one that receives datagrams. */ \
  RCL_I_OVER int rcl_bind(rcl_group g, SPACE const char* address, uint backlog) { \
    RCL_I_BY_LEADER(s, rcl_i_open(g, RCL_I_BIND, address, backlog, RCL_I_LISTENING | RCL_I_CONNECTED)); \
    return s; \
  } \
  RCL_I_OVER int rcl_bind(rcl_group g, SPACE const char* address) { return rcl_bind(g, address, 1024u); } \
  /* Where a name leads to, for rcl_sendto() on the socket. */ \
  RCL_I_OVER int rcl_resolve(rcl_group g, int s, SPACE const char* address, __private rcl_peer* peer) { \
    RCL_I_BY_LEADER(result, rcl_i_resolve(g, s, address)); \
    if (result == 0) { \
      volatile __global uint* line = rcl_i_line(g, rcl_i_index(s)); \
      peer->port = line[RCL_I_PEER_PORT]; \
      for (uint i = 0; i < 4u; ++i) peer->ip[i] = line[RCL_I_PEER_IP + i]; \
    } \
    return result; \
  } \
  RCL_I_OVER int rcl_one_connect(rcl_group g, SPACE const char* address) { \
    return rcl_i_open(g, RCL_I_CONNECT, address, 0u, RCL_I_CONNECTED); \
  }
RCL_I_OPENING(__constant)
RCL_I_OPENING(__global)

// A connection of a listening socket. The second form returns -RCL_EAGAIN if there is none.
RCL_I int rcl_accept(rcl_group g, int listener) {
  RCL_I_BY_LEADER(s, rcl_i_accept(g, listener, 1));
  return s;
}
RCL_I int rcl_accept_nb(rcl_group g, int listener) {
  RCL_I_BY_LEADER(s, rcl_i_accept(g, listener, 0));
  return s;
}
// Ends the sending direction, after all that was sent.
RCL_I int rcl_shutdown(rcl_group g, int s) {
  RCL_I_BY_LEADER(result, rcl_i_shutdown(g, s));
  return result;
}
// The socket may not be named any more. What was sent still goes out.
RCL_I int rcl_close(rcl_group g, int s) {
  RCL_I_BY_LEADER(result, rcl_i_close(g, s));
  return result;
}
// The port that a bound socket has.
RCL_I int rcl_port(rcl_group g, int s) {
  RCL_I_BY_LEADER(port, rcl_i_port(g, s));
  return port;
}
// Milliseconds, from some time on; about one behind at most, and not the same in all items.
RCL_I uint rcl_time_ms(rcl_group g) { return *rcl_i_word(g, RCL_I_CLOCK_AT); }

// What rcl_poll() says of a socket.
RCL_I_CALL uint rcl_i_events(rcl_group g, int s) {
  if (s < 0) return 0u;
  if (!rcl_i_is_handle(g, s)) return RCL_POLLERR;
  const uint index = rcl_i_index(s);
  const uint head = *rcl_i_head(g, index), tail = *rcl_i_tail(g, index);
  const uint4 line = rcl_i_look(g, index);
  if (rcl_i_wrong(g, s, line)) return RCL_POLLERR;
  uint events = 0u;
  if (line.x != head || (line.z & (RCL_I_END_OF_STREAM | RCL_I_FAILED | RCL_I_PENDING))) events |= RCL_POLLIN;
  if (line.z & RCL_I_FAILED) events |= RCL_POLLERR | RCL_POLLOUT;
  if ((line.z & RCL_I_CONNECTED) && tail - line.y < g.ring) events |= RCL_POLLOUT;
  if (line.z & RCL_I_END_OF_STREAM) events |= RCL_POLLHUP;
  return events;
}

RCL_I void rcl_i_tell_peer(rcl_group g, rcl_peer peer) {
  g.words[4] = peer.port;
  for (uint i = 0; i < 4u; ++i) g.words[5u + i] = peer.ip[i];
}
RCL_I void rcl_i_told_peer(rcl_group g, __private rcl_peer* peer) {
  peer->port = g.words[4];
  for (uint i = 0; i < 4u; ++i) peer->ip[i] = g.words[5u + i];
}

#define RCL_I_SINGLE(SPACE, CALL) \
  CALL int rcl_i_one_recv(rcl_group g, int s, SPACE void* data, uint size, int waits) { \
    const rcl_piece piece = rcl_i_receivable(g, s, size, waits); \
    if (piece.size > 0) rcl_i_from_ring(g, s, piece, data, 0u, 1u); \
    if (piece.size > 0 || piece.datagram) rcl_i_received(g, s, piece.next); \
    return piece.size; \
  } \
  CALL int rcl_i_one_send(rcl_group g, int s, SPACE const void* data, uint size, int waits, rcl_peer peer) { \
    const rcl_piece piece = rcl_i_sendable(g, s, size, waits); \
    if (piece.datagram) rcl_i_write_header(g, s, piece, peer); \
    if (piece.size > 0) rcl_i_to_ring(g, s, piece, data, 0u, 1u); \
    if (piece.size > 0 || piece.datagram) rcl_i_sent(g, s, piece.next); \
    return piece.size; \
  }
RCL_I_SINGLE(__global, RCL_I_CALL_OVER)
RCL_I_SINGLE(__local, RCL_I_OVER)

// How a group moves bytes and looks at sockets: its items share the work where they run at the same time. Where one thread
// runs them one after the other, the leader does all of it, and the compiler has fewer barriers to cut the kernel at.
#if defined(__NV_CL_C_VERSION)
#define RCL_I_SHARED(SPACE, CALL) \
  RCL_I_OVER int rcl_i_recv(rcl_group g, int s, SPACE void* data, uint size, int waits) { \
    rcl_i_barrier(); \
    if (rcl_i_item() == 0u) { \
      const rcl_piece there = rcl_i_receivable(g, s, size, waits); \
      rcl_i_tell(g, there); \
      if (there.datagram) rcl_i_tell_peer(g, rcl_i_read_header(g, s, there)); \
    } \
    rcl_i_barrier(); \
    const rcl_piece piece = rcl_i_told(g); \
    if (piece.size > 0) rcl_i_from_ring(g, s, piece, data, rcl_i_item(), rcl_i_items()); \
    rcl_i_barrier(); \
    if (rcl_i_item() == 0u && (piece.size > 0 || piece.datagram)) rcl_i_received(g, s, piece.next); \
    return piece.size; \
  } \
  RCL_I_OVER int rcl_i_send(rcl_group g, int s, SPACE const void* data, uint size, int waits, rcl_peer peer) { \
    rcl_i_barrier(); \
    if (rcl_i_item() == 0u) { \
      const rcl_piece room = rcl_i_sendable(g, s, size, waits); \
      rcl_i_tell(g, room); \
      if (room.datagram) rcl_i_write_header(g, s, room, peer); \
    } \
    rcl_i_barrier(); \
    const rcl_piece piece = rcl_i_told(g); \
    if (piece.size > 0) rcl_i_to_ring(g, s, piece, data, rcl_i_item(), rcl_i_items()); \
    rcl_i_barrier(); \
    if (rcl_i_item() == 0u && (piece.size > 0 || piece.datagram)) rcl_i_sent(g, s, piece.next); \
    return piece.size; \
  } \
  /* Receives all bytes: less than `size` only where the stream ends. */ \
  RCL_I_OVER int rcl_recv_all(rcl_group g, int s, SPACE void* data, uint size) { \
    uint done = 0; \
    int got = 1; \
    while (done < size && got > 0) { \
      got = rcl_i_recv(g, s, (SPACE uchar*)data + done, size - done, 1); \
      if (got > 0) done += (uint)got; \
    } \
    return got < 0 ? got : (int)done; \
  } \
  RCL_I_OVER int rcl_send_all(rcl_group g, int s, SPACE const void* data, uint size) { \
    uint done = 0; \
    int sent = 1; \
    while (done < size && sent > 0) { \
      sent = rcl_i_send(g, s, (SPACE const uchar*)data + done, size - done, 1, rcl_i_no_peer()); \
      if (sent > 0) done += (uint)sent; \
    } \
    return sent < 0 ? sent : (int)done; \
  } \
  /* Waits until a socket is ready or the time is over (below 0: never). wanted[i] and ready[i] are RCL_POLL... bits of */ \
  /* sockets[i]; one below 0 is passed over. Returns how many are ready. */ \
  RCL_I_OVER int rcl_poll(rcl_group g, SPACE const int* sockets, SPACE const uint* wanted, SPACE uint* ready, uint count, \
                          int timeout_ms) { \
    const uint begin = rcl_time_ms(g); \
    int result = 0, over = 0; \
    while (!over) { \
      rcl_i_barrier(); \
      if (rcl_i_item() == 0u) { \
        g.words[0] = 0u; \
        g.words[1] = timeout_ms >= 0 && (int)(rcl_time_ms(g) - begin) >= timeout_ms; \
        g.words[2] = *rcl_i_word(g, RCL_I_STOP_AT); \
      } \
      rcl_i_barrier(); \
      for (uint i = rcl_i_item(); i < count; i += rcl_i_items()) { \
        const uint events = rcl_i_events(g, sockets[i]) & (wanted[i] | RCL_POLLERR | RCL_POLLHUP); \
        ready[i] = events; \
        if (events) atomic_inc((volatile __local uint*)g.words); \
      } \
      rcl_i_barrier(); \
      result = g.words[2] ? -RCL_ECANCELED : (int)g.words[0]; \
      over = result != 0 || g.words[1] != 0u; \
    } \
    return result; \
  }
#else
#define RCL_I_SHARED(SPACE, CALL) \
  RCL_I_OVER int rcl_i_led_recv(rcl_group g, int s, SPACE void* data, uint size, int waits) { \
    const rcl_piece piece = rcl_i_receivable(g, s, size, waits); \
    if (piece.datagram) rcl_i_tell_peer(g, rcl_i_read_header(g, s, piece)); \
    if (piece.size > 0) rcl_i_from_ring(g, s, piece, data, 0u, 1u); \
    if (piece.size > 0 || piece.datagram) rcl_i_received(g, s, piece.next); \
    return piece.size; \
  } \
  RCL_I_OVER int rcl_i_recv(rcl_group g, int s, SPACE void* data, uint size, int waits) { \
    RCL_I_BY_LEADER(got, rcl_i_led_recv(g, s, data, size, waits)); \
    return got; \
  } \
  RCL_I_OVER int rcl_i_send(rcl_group g, int s, SPACE const void* data, uint size, int waits, rcl_peer peer) { \
    RCL_I_BY_LEADER(sent, rcl_i_one_send(g, s, data, size, waits, peer)); \
    return sent; \
  } \
  /* Receives all bytes: less than `size` only where the stream ends. */ \
  RCL_I_OVER int rcl_i_led_recv_all(rcl_group g, int s, SPACE void* data, uint size) { \
    uint done = 0; \
    int got = 1; \
    while (done < size && got > 0) { \
      got = rcl_i_one_recv(g, s, (SPACE uchar*)data + done, size - done, 1); \
      if (got > 0) done += (uint)got; \
    } \
    return got < 0 ? got : (int)done; \
  } \
  RCL_I_OVER int rcl_i_led_send_all(rcl_group g, int s, SPACE const void* data, uint size) { \
    uint done = 0; \
    int sent = 1; \
    while (done < size && sent > 0) { \
      sent = rcl_i_one_send(g, s, (SPACE const uchar*)data + done, size - done, 1, rcl_i_no_peer()); \
      if (sent > 0) done += (uint)sent; \
    } \
    return sent < 0 ? sent : (int)done; \
  } \
  RCL_I_OVER int rcl_recv_all(rcl_group g, int s, SPACE void* data, uint size) { \
    RCL_I_BY_LEADER(got, rcl_i_led_recv_all(g, s, data, size)); \
    return got; \
  } \
  RCL_I_OVER int rcl_send_all(rcl_group g, int s, SPACE const void* data, uint size) { \
    RCL_I_BY_LEADER(sent, rcl_i_led_send_all(g, s, data, size)); \
    return sent; \
  } \
  /* Waits until a socket is ready or the time is over (below 0: never). wanted[i] and ready[i] are RCL_POLL... bits of */ \
  /* sockets[i]; one below 0 is passed over. Returns how many are ready. */ \
  CALL int rcl_i_poll(rcl_group g, SPACE const int* sockets, SPACE const uint* wanted, SPACE uint* ready, \
                                 uint count, int timeout_ms) { \
    const uint begin = rcl_time_ms(g); \
    uint looks = 0; \
    while (1) { \
      int result = 0; \
      rcl_i_pause(&looks); \
      for (uint i = 0; i < count; ++i) { \
        ready[i] = rcl_i_events(g, sockets[i]) & (wanted[i] | RCL_POLLERR | RCL_POLLHUP); \
        if (ready[i]) ++result; \
      } \
      if (*rcl_i_word(g, RCL_I_STOP_AT)) return -RCL_ECANCELED; \
      if (result || (timeout_ms >= 0 && (int)(rcl_time_ms(g) - begin) >= timeout_ms)) return result; \
    } \
  } \
  RCL_I_OVER int rcl_poll(rcl_group g, SPACE const int* sockets, SPACE const uint* wanted, SPACE uint* ready, uint count, \
                          int timeout_ms) { \
    RCL_I_BY_LEADER(result, rcl_i_poll(g, sockets, wanted, ready, count, timeout_ms)); \
    return result; \
  }
#endif
RCL_I_SHARED(__global, RCL_I_CALL_OVER)
RCL_I_SHARED(__local, RCL_I_OVER)

#define RCL_I_TRANSFERS(SPACE) \
  /* Receives 1 to `size` bytes; 0 once the peer has ended its stream. Or one datagram, of which the rest is lost. */ \
  RCL_I_OVER int rcl_recv(rcl_group g, int s, SPACE void* data, uint size) { return rcl_i_recv(g, s, data, size, 1); } \
  /* -RCL_EAGAIN if it would have to wait. */ \
  RCL_I_OVER int rcl_recv_nb(rcl_group g, int s, SPACE void* data, uint size) { return rcl_i_recv(g, s, data, size, 0); } \
  /* Sends 1 to `size` bytes, or one datagram. The bytes are the host's when it returns. */ \
  RCL_I_OVER int rcl_send(rcl_group g, int s, SPACE const void* data, uint size) { \
    return rcl_i_send(g, s, data, size, 1, rcl_i_no_peer()); \
  } \
  RCL_I_OVER int rcl_send_nb(rcl_group g, int s, SPACE const void* data, uint size) { \
    return rcl_i_send(g, s, data, size, 0, rcl_i_no_peer()); \
  } \
  /* A datagram to a peer that rcl_resolve() or rcl_recvfrom() gave. */ \
  RCL_I_OVER int rcl_sendto(rcl_group g, int s, SPACE const void* data, uint size, __private const rcl_peer* peer) { \
    return rcl_i_send(g, s, data, size, 1, *peer); \
  } \
  RCL_I_OVER int rcl_recvfrom(rcl_group g, int s, SPACE void* data, uint size, __private rcl_peer* peer) { \
    const int got = rcl_i_recv(g, s, data, size, 1); \
    if (got >= 0) rcl_i_told_peer(g, peer); \
    return got; \
  } \
  /* For one item. Items that wait for each other can keep a whole sub-group waiting on devices that run its items in */ \
  /* step. */ \
  RCL_I_OVER int rcl_one_recv(rcl_group g, int s, SPACE void* data, uint size) { \
    return rcl_i_one_recv(g, s, data, size, 1); \
  } \
  RCL_I_OVER int rcl_one_recv_nb(rcl_group g, int s, SPACE void* data, uint size) { \
    return rcl_i_one_recv(g, s, data, size, 0); \
  } \
  RCL_I_OVER int rcl_one_send(rcl_group g, int s, SPACE const void* data, uint size) { \
    return rcl_i_one_send(g, s, data, size, 1, rcl_i_no_peer()); \
  } \
  RCL_I_OVER int rcl_one_send_nb(rcl_group g, int s, SPACE const void* data, uint size) { \
    return rcl_i_one_send(g, s, data, size, 0, rcl_i_no_peer()); \
  }
RCL_I_TRANSFERS(__global)
RCL_I_TRANSFERS(__local)

RCL_I int rcl_one_accept(rcl_group g, int listener) { return rcl_i_accept(g, listener, 1); }
RCL_I int rcl_one_accept_nb(rcl_group g, int listener) { return rcl_i_accept(g, listener, 0); }
RCL_I int rcl_one_shutdown(rcl_group g, int s) { return rcl_i_shutdown(g, s); }
RCL_I int rcl_one_close(rcl_group g, int s) { return rcl_i_close(g, s); }

// ---- Zero-copy: the bytes of a stream stay in the ring ----

// Waits for received bytes, and returns where they lie: *count of them, which is 0 at the end of the stream and negative
// for an error (both with a null pointer). They stay until rcl_recv_release().
RCL_I volatile __global uchar* rcl_recv_peek(rcl_group g, int s, __private int* count) {
  rcl_i_barrier();
  if (rcl_i_item() == 0u) rcl_i_tell(g, rcl_i_receivable(g, s, g.ring, 1));
  rcl_i_barrier();
  const rcl_piece piece = rcl_i_told(g);
  *count = piece.datagram ? -RCL_EOPNOTSUPP : piece.size;
  if (*count <= 0) return 0;
  const uint begin = piece.from & (g.ring - 1u);
  *count = (int)min((uint)piece.size, g.ring - begin);
  return rcl_i_receive_ring(g, rcl_i_index(s)) + begin;
}
// The first bytes are no longer needed.
RCL_I void rcl_recv_release(rcl_group g, int s, uint count) {
  rcl_i_barrier();
  if (rcl_i_item() == 0u) rcl_i_received(g, s, *rcl_i_head(g, rcl_i_index(s)) + count);
}
// Waits for room, and returns where it lies: *count bytes, or a negative number and null. rcl_send_commit() sends what
// was written there.
RCL_I volatile __global uchar* rcl_send_reserve(rcl_group g, int s, __private int* count) {
  rcl_i_barrier();
  if (rcl_i_item() == 0u) rcl_i_tell(g, rcl_i_sendable(g, s, g.ring, 1));
  rcl_i_barrier();
  const rcl_piece piece = rcl_i_told(g);
  *count = piece.datagram || piece.size == -RCL_EMSGSIZE ? -RCL_EOPNOTSUPP : piece.size;
  if (*count <= 0) return 0;
  const uint begin = piece.from & (g.ring - 1u);
  *count = (int)min((uint)piece.size, g.ring - begin);
  return rcl_i_send_ring(g, rcl_i_index(s)) + begin;
}
RCL_I void rcl_send_commit(rcl_group g, int s, uint count) {
  rcl_i_barrier();
  if (rcl_i_item() == 0u) rcl_i_sent(g, s, *rcl_i_tail(g, rcl_i_index(s)) + count);
}
