// Face verification: how much does a photo look like the one that a memcached server has of that person? Photos are
// compared by histograms of local binary patterns.
#include "remotecl/net.cl"

#define SIDE 64
#define PIXELS (SIDE * SIDE)
#define CELL 8                   // a histogram for each cell of 8 x 8 pixels
#define CELLS (PIXELS / CELL / CELL)
#define BINS 59                  // the 58 uniform patterns, and all others
#define NAME 32                  // bytes of a name in a request, zeros behind it
#define REQUEST (NAME + PIXELS)
#define UNKNOWN -1

// ---- Comparing ----

// A bit for each of the 8 neighbours that is not darker. Beyond the edge, pixels are repeated.
uchar pattern(__global const uchar* photo, int x, int y) {
  const int dx[8] = {-1, 0, 1, 1, 1, 0, -1, -1}, dy[8] = {-1, -1, -1, 0, 1, 1, 1, 0};
  uchar centre = photo[y * SIDE + x], bits = 0;
  for (int k = 0; k < 8; ++k) {
    int nx = clamp(x + dx[k], 0, SIDE - 1), ny = clamp(y + dy[k], 0, SIDE - 1);
    bits |= (photo[ny * SIDE + nx] >= centre) << k;
  }
  return bits;
}

// The chi-square distance of two photos' histograms, in 256ths and rounded down bin by bin, so that it is the same number
// everywhere. `pixels`: all of them, or 0 for no work. `counts` has both histograms in one word for each bin: no count is above 64.
uint distance(__global const uchar* a, __global const uchar* b, int pixels, __global const uchar* bin_of,
              __local uint* counts, __local uint* total) {
  for (int k = get_local_id(0); k < CELLS * BINS; k += get_local_size(0)) counts[k] = 0;
  if (get_local_id(0) == 0) *total = 0;
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (int k = get_local_id(0); k < pixels; k += get_local_size(0)) {
    int x = k % SIDE, y = k / SIDE;
    __local uint* cell = counts + (y / CELL * (SIDE / CELL) + x / CELL) * BINS;
    atomic_add(cell + bin_of[pattern(a, x, y)], 1u);
    atomic_add(cell + bin_of[pattern(b, x, y)], 1u << 16);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint sum = 0;
  for (int k = get_local_id(0); k < CELLS * BINS; k += get_local_size(0)) {
    int of_a = counts[k] & 0xffff, of_b = counts[k] >> 16;
    if (counts[k] != 0) sum += (uint)((of_a - of_b) * (of_a - of_b)) * 256u / (uint)(of_a + of_b);
  }
  atomic_add(total, sum);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint result = *total;
  barrier(CLK_LOCAL_MEM_FENCE);
  return result;
}

// For a host that has the sockets itself: one work-group compares one pair.
__kernel void compare_pairs(__global const uchar* asked, __global const uchar* known, __global const uchar* bin_of,
                            __global uint* distances) {
  __local uint counts[CELLS * BINS];
  __local uint total;
  size_t pair = get_group_id(0);
  uint result = distance(asked + PIXELS * pair, known + PIXELS * pair, PIXELS, bin_of, counts, &total);
  if (get_local_id(0) == 0) distances[pair] = result;
}

// ---- memcached ----

// Writes "PREFIX NAME SUFFIX" and returns its length. One item's work.
int put(__local uchar* line, __constant const char* prefix, __global const uchar* name, __constant const char* suffix) {
  int length = 0;
  for (int k = 0; prefix[k]; ++k) line[length++] = prefix[k];
  for (int k = 0; k < NAME && name[k]; ++k) line[length++] = name[k];
  for (int k = 0; suffix[k]; ++k) line[length++] = suffix[k];
  return length;
}

__constant const char GET[] = "get ", VALUE[] = "VALUE ", LINE_END[] = "\r\n", SIZE[] = " 0 4096\r\n";

typedef struct {
  uchar asked[NAME + 16], expected[NAME + 32], got[NAME + 32];
  int asked_size, expected_size, same;
} memcached_lines;

// A name that memcached takes: letters, digits and the like, at least one, and a zero behind.
int is_name(__global const uchar* name) {
  int k = 0;
  while (k < NAME && name[k] > ' ' && name[k] < 127) ++k;
  return k > 0 && k < NAME && name[k] == 0;
}

// Fetches a person's photo, with memcached's \r\nEND\r\n behind it. Returns 1, 0 for nobody of that name, or an error.
// With socket -1 does nothing and returns 0.
//
// A call with socket -1 does nothing, and stands here and below in place of a branch: branches with barriers in them
// make compilers for CPUs copy what comes after them.
int fetch(rcl_group g, int store, __global const uchar* name, __global uchar* photo, __local memcached_lines* lines) {
  if (get_local_id(0) == 0) {
    lines->asked_size = put(lines->asked, GET, name, LINE_END);
    lines->expected_size = put(lines->expected, VALUE, name, SIZE);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int rest = lines->expected_size - 5;
  int sent = rcl_send_all(g, store, lines->asked, lines->asked_size);
  int got = rcl_recv_all(g, store, lines->got, 5);  // "VALUE", or "END\r\n"
  int found = got == 5 && lines->got[0] == 'V';
  int got_line = rcl_recv_all(g, found ? store : -1, lines->got + 5, rest);
  if (get_local_id(0) == 0) {
    lines->same = 1;
    for (int k = 0; k < lines->expected_size; ++k) lines->same &= lines->got[k] == lines->expected[k];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int is_right = found && got_line == rest && lines->same;
  int got_photo = rcl_recv_all(g, is_right ? store : -1, photo, PIXELS + 7);
  if (store < 0) return 0;
  if (sent < 0 || got < 5) return -RCL_ECONNRESET;
  return !found ? 0 : !is_right ? -RCL_EPROTO : got_photo == PIXELS + 7 ? 1 : -RCL_ECONNRESET;
}

// ---- Serving ----

// Each work-group has a connection to memcached and at most `most` clients, of which a slow one delays nobody. All end
// when so many clients as expected are gone. With a part for each work-group: `requests` has room for each client's
// request and for a photo, `sockets` -1 for each client and the listener behind them, `filled` zeros. `wanted` has
// RCL_POLLIN for each socket.
__kernel void serve_faces(__global rcl_net* net, int listener, __global const char* memcached, uint threshold,
                          __global const uchar* bin_of, int most, int expected, volatile __global int* gone,
                          __global uchar* requests, __global int* sockets, __global const uint* wanted,
                          __global uint* ready, __global int* filled, volatile __global int* status) {
  RCL_GROUP(g, net);
  __local uint counts[CELLS * BINS];
  __local uint reply[2];
  __local memcached_lines lines;
  __local int all_gone;
  requests += (size_t)REQUEST * (most + 1) * get_group_id(0);
  sockets += (most + 1) * get_group_id(0);
  ready += (most + 1) * get_group_id(0);
  filled += most * get_group_id(0);
  __global uchar* known = requests + REQUEST * most;
  int store = rcl_connect(g, memcached);
  int error = min(store, 0), is_over = 0;
  while (!is_over) {
    // Other work-groups may serve the last client, so this one looks now and then.
    int result = rcl_poll(g, sockets, wanted, ready, most + 1, 10);
    error = min(error, result);
    for (int k = ready_before(ready, most); k >= 0; k = ready_before(ready, k)) {
      __global uchar* request = requests + REQUEST * k;
      int client = sockets[k], had = filled[k];
      int got = rcl_recv_nb(g, client, request + had, REQUEST - had);
      int is_complete = got > 0 && had + got == REQUEST, is_gone = got <= 0 && got != -RCL_EAGAIN;
      int found = fetch(g, is_complete && is_name(request) ? store : -1, request, known, &lines);
      uint far = distance(request + NAME, known, found > 0 ? PIXELS : 0, bin_of, counts, reply);
      error = min(error, found);
      if (get_local_id(0) == 0) {
        reply[0] = far;
        reply[1] = found > 0 ? far <= threshold : (uint)UNKNOWN;
        filled[k] = is_complete || is_gone ? 0 : had + max(got, 0);
        sockets[k] = is_gone ? -1 : client;
        if (is_gone) atomic_inc(gone);
      }
      // A client that is gone meanwhile is noticed by the next poll.
      rcl_send_all(g, is_complete ? client : -1, (__local uchar*)reply, 8);
      rcl_close(g, is_gone ? client : -1);
      barrier(CLK_GLOBAL_MEM_FENCE);
    }
    int place = free_place(sockets, most);
    int client = rcl_accept_nb(g, place < most && ready[most] ? listener : -1);  // Another group may have been faster.
    if (get_local_id(0) == 0) {
      if (client >= 0) sockets[place] = client;
      sockets[most] = free_place(sockets, most) < most ? listener : -1;
      if (error < 0) atomic_cmpxchg(status, 0, error);
      all_gone = atomic_add(gone, 0) >= expected || atomic_add(status, 0) != 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    is_over = all_gone;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  rcl_close(g, store);
}
