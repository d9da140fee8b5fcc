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

