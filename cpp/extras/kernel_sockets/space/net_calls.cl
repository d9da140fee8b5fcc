// ---- Collective calls ----

// The leader's words: a piece in four, then a peer in five.
RCL_I void rcl_i_share_piece(rcl_group g, rcl_piece piece) {
  g.words[0] = (uint)piece.size;
  g.words[1] = piece.from;
  g.words[2] = piece.next;
  g.words[3] = piece.datagram;
}
RCL_I rcl_piece rcl_i_shared_piece(rcl_group g) {
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
  } \
  RCL_I_OVER int rcl_one_bind(rcl_group g, SPACE const char* address, uint backlog) { \
    return rcl_i_open(g, RCL_I_BIND, address, backlog, RCL_I_LISTENING | RCL_I_CONNECTED); \
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

RCL_I void rcl_i_share_peer(rcl_group g, rcl_peer peer) {
  g.words[4] = peer.port;
  for (uint i = 0; i < 4u; ++i) g.words[5u + i] = peer.ip[i];
}
RCL_I void rcl_i_shared_peer(rcl_group g, __private rcl_peer* peer) {
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
      rcl_i_share_piece(g, there); \
      if (there.datagram) rcl_i_share_peer(g, rcl_i_read_header(g, s, there)); \
    } \
    rcl_i_barrier(); \
    const rcl_piece piece = rcl_i_shared_piece(g); \
    if (piece.size > 0) rcl_i_from_ring(g, s, piece, data, rcl_i_item(), rcl_i_items()); \
    rcl_i_barrier(); \
    if (rcl_i_item() == 0u && (piece.size > 0 || piece.datagram)) rcl_i_received(g, s, piece.next); \
    return piece.size; \
  } \
  RCL_I_OVER int rcl_i_send(rcl_group g, int s, SPACE const void* data, uint size, int waits, rcl_peer peer) { \
    rcl_i_barrier(); \
    if (rcl_i_item() == 0u) { \
      const rcl_piece room = rcl_i_sendable(g, s, size, waits); \
      rcl_i_share_piece(g, room); \
      if (room.datagram) rcl_i_write_header(g, s, room, peer); \
    } \
    rcl_i_barrier(); \
    const rcl_piece piece = rcl_i_shared_piece(g); \
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
    if (piece.datagram) rcl_i_share_peer(g, rcl_i_read_header(g, s, piece)); \
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
    if (got >= 0) rcl_i_shared_peer(g, peer); \
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
RCL_I int rcl_one_port(rcl_group g, int s) { return rcl_i_port(g, s); }
RCL_I int rcl_one_shutdown(rcl_group g, int s) { return rcl_i_shutdown(g, s); }
RCL_I int rcl_one_close(rcl_group g, int s) { return rcl_i_close(g, s); }

// ---- Zero-copy: the bytes of a stream stay in the ring ----

// Waits for received bytes, and returns where they lie: *count of them, which is 0 at the end of the stream and negative
// for an error (both with a null pointer). They stay until rcl_recv_release().
RCL_I volatile __global uchar* rcl_recv_peek(rcl_group g, int s, __private int* count) {
  rcl_i_barrier();
  if (rcl_i_item() == 0u) rcl_i_share_piece(g, rcl_i_receivable(g, s, g.ring, 1));
  rcl_i_barrier();
  const rcl_piece piece = rcl_i_shared_piece(g);
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
  if (rcl_i_item() == 0u) rcl_i_share_piece(g, rcl_i_sendable(g, s, g.ring, 1));
  rcl_i_barrier();
  const rcl_piece piece = rcl_i_shared_piece(g);
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
