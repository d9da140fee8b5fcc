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

#define RCL_I_LARGE 16384u

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
        // The single bytes at the end of a large piece come with the next one, which is aligned then and faster to copy.
        if (there < size && there >= RCL_I_LARGE) there -= (head + there) & 15u;
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

// One item of `items` copies its part: 16 bytes at a time from a place on where the ring is aligned, so that the bus
// carries whole words also where the kernel's data are aligned otherwise, and single bytes before and behind that. On a
// GPU a read over the bus takes long, so an item begins all that it can before it waits for the first.
#if defined(__NV_CL_C_VERSION)
#define RCL_I_AT_ONCE 8u
#else
#define RCL_I_AT_ONCE 1u
#endif
#define RCL_I_WHOLE(BEGIN, END, GET, PUT) \
  do { \
    const uint step = items * 16u; \
    for (uint at = (BEGIN) + item * 16u; at < (END); at += RCL_I_AT_ONCE * step) { \
      uint4 words[RCL_I_AT_ONCE]; \
      _Pragma("unroll") for (uint i = 0; i < RCL_I_AT_ONCE; ++i) { \
        if (at + i * step < (END)) words[i] = GET(at + i * step); \
      } \
      _Pragma("unroll") for (uint i = 0; i < RCL_I_AT_ONCE; ++i) { \
        if (at + i * step < (END)) PUT(at + i * step, words[i]); \
      } \
    } \
  } while (0)
#define RCL_I_GET_RING(at) *(volatile __global uint4*)(from + (at))
#define RCL_I_PUT_RING(at, value) *(volatile __global uint4*)(to + (at)) = (value)
#define RCL_I_GET_GLOBAL(at) *(const __global uint4*)(from + (at))
#define RCL_I_PUT_GLOBAL(at, value) *(__global uint4*)(to + (at)) = (value)
#define RCL_I_GET_LOCAL(at) *(const __local uint4*)(from + (at))
#define RCL_I_PUT_LOCAL(at, value) *(__local uint4*)(to + (at)) = (value)
#define RCL_I_GET_ANYWHERE(at) rcl_i_load(from + (at))
#define RCL_I_PUT_ANYWHERE(at, value) rcl_i_store(to + (at), value)
#if defined(__NV_CL_C_VERSION)
// By whole words of the memory as far as possible: this compiler moves the vectors of vload16() and vstore16() by bytes.
#define RCL_I_ANYWHERE(SPACE) \
  RCL_I_OVER uint4 rcl_i_load(SPACE const uchar* from) { \
    const uint bits = 8u * ((uint)(size_t)from & 3u); \
    SPACE const uint* words = (SPACE const uint*)(from - bits / 8u); \
    uint4 v = (uint4)(words[0], words[1], words[2], words[3]); \
    if (bits != 0u) v = v >> bits | (uint4)(v.yzw, words[4]) << (32u - bits); \
    return v; \
  } \
  RCL_I_OVER void rcl_i_store(SPACE uchar* to, uint4 v) { \
    const uint ahead = (0u - (uint)(size_t)to) & 3u, bits = 8u * ahead; \
    SPACE uint* words = (SPACE uint*)(to + ahead); \
    if (ahead == 0u) { \
      words[3] = v.w; \
    } else { \
      for (uint i = 0; i < ahead; ++i) to[i] = (uchar)(v.x >> 8u * i); \
      for (uint i = ahead; i < 4u; ++i) to[12u + i] = (uchar)(v.w >> 8u * i); \
      v = v >> bits | (uint4)(v.yzw, 0u) << (32u - bits); \
    } \
    words[0] = v.x; \
    words[1] = v.y; \
    words[2] = v.z; \
  }
#else
#define RCL_I_ANYWHERE(SPACE) \
  RCL_I_OVER uint4 rcl_i_load(SPACE const uchar* from) { return as_uint4(vload16(0, from)); } \
  RCL_I_OVER void rcl_i_store(SPACE uchar* to, uint4 v) { vstore16(as_uchar16(v), 0, to); }
#endif
RCL_I_ANYWHERE(__global)
RCL_I_ANYWHERE(__local)
#define RCL_I_COPY(TO_SPACE, FROM_SPACE, RING, GET, PUT, GET_ANYWHERE, PUT_ANYWHERE) \
  RCL_I_OVER void rcl_i_copy(TO_SPACE uchar* to, FROM_SPACE uchar* from, uint size, uint item, uint items) { \
    const uint ahead = min(size, (0u - (uint)(size_t)(RING)) & 15u); \
    const uint whole = (size - ahead) & ~15u, end = ahead + whole, single = size - whole; \
    uint at_single = item < ahead ? item : item + whole; \
    uchar byte = 0; \
    if (item < single) byte = from[at_single]; \
    if ((((uint)(size_t)to ^ (uint)(size_t)from) & 15u) == 0u) { \
      RCL_I_WHOLE(ahead, end, GET, PUT); \
    } else { \
      RCL_I_WHOLE(ahead, end, GET_ANYWHERE, PUT_ANYWHERE); \
    } \
    if (item < single) to[at_single] = byte; \
    for (uint i = item + items; i < single; i += items) { \
      at_single = i < ahead ? i : i + whole; \
      to[at_single] = from[at_single]; \
    } \
  }
RCL_I_COPY(__global, volatile __global, from, RCL_I_GET_RING, RCL_I_PUT_GLOBAL, RCL_I_GET_RING, RCL_I_PUT_ANYWHERE)
RCL_I_COPY(__local, volatile __global, from, RCL_I_GET_RING, RCL_I_PUT_LOCAL, RCL_I_GET_RING, RCL_I_PUT_ANYWHERE)
RCL_I_COPY(volatile __global, const __global, to, RCL_I_GET_GLOBAL, RCL_I_PUT_RING, RCL_I_GET_ANYWHERE, RCL_I_PUT_RING)
RCL_I_COPY(volatile __global, const __local, to, RCL_I_GET_LOCAL, RCL_I_PUT_RING, RCL_I_GET_ANYWHERE, RCL_I_PUT_RING)

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

