// Word count as MapReduce, with no host in between: the mapping kernel of each device counts the words of its part of the
// text, and sends each word to the device whose reducing kernel adds up that word's counts.
#include "remotecl/net.cl"

#define LETTERS 27        // Words are told apart by so many bytes.
#define RECORD 32         // What is sent for a word: its count in 4 bytes, its letters, zeros.
#define STEP 256          // entries of a table that are looked at before it is decided whether to send
#define ADDRESS 64        // bytes for each address

bool is_letter(uchar c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c >= 128; }
uchar lower(uchar c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }
uchar letter(__global const uchar* word, int k) { return k < LETTERS && is_letter(word[k]) ? lower(word[k]) : 0; }

uint hash(__global const uchar* word) {
  uint value = 2166136261u;
  for (int k = 0; letter(word, k); ++k) value = (value ^ letter(word, k)) * 16777619u;
  return value ^ value >> 15;
}

bool same(__global const uchar* a, __global const uchar* b) {
  int k = 0;
  while (letter(a, k) && letter(a, k) == letter(b, k)) ++k;
  return letter(a, k) == letter(b, k);
}

// A table has two words for each entry: where a word begins in `text`, plus 1, and its count. The letters stay in the
// text, so one compare-exchange claims an entry and says at once which word it is for.
bool add(volatile __global uint* table, uint entries, __global const uchar* text, uint begin, uint count) {
  uint at = hash(text + begin);
  for (uint tried = 0; tried < entries; ++tried, ++at) {
    volatile __global uint* entry = table + 2 * (at & (entries - 1));
    uint holder = atomic_cmpxchg(entry, 0u, begin + 1);
    if (holder == 0 || same(text + holder - 1, text + begin)) {
      atomic_add(entry + 1, count);
      return true;
    }
  }
  return false;
}

// The first error stays: a negative one of a socket, or 1 for a full table or a connection that ended early.
void fail(volatile __global int* status, int error) { atomic_cmpxchg(status, 0, error); }

void count_words(__global const uchar* text, uint begin, uint end, __global uint* table, uint entries,
                 volatile __global int* status) {
  for (uint at = begin + get_local_id(0); at < end; at += get_local_size(0)) {
    if (!is_letter(text[at]) || (at > 0 && is_letter(text[at - 1]))) continue;
    if (!add(table, entries, text, at, 1)) fail(status, 1);
  }
}

void put_record(__global uchar* record, __global const uchar* word, uint count) {
  *(__global uint*)record = count;
  for (int k = 0; k < RECORD - 4; ++k) record[4 + k] = 0;
  for (int k = 0; letter(word, k); ++k) record[4 + k] = letter(word, k);
}

// Sends the words of one device: batches of records, each behind a record that only says how many they are.
// A call with socket -1 does nothing, and stands here in place of a branch: branches with barriers in them make
// compilers for CPUs copy what comes after them.
int send_words(rcl_group g, int socket, int device, int devices, __global const uchar* text, __global const uint* table,
               uint entries, __global uchar* batch, volatile __local int* filled) {
  int error = 0;
  if (get_local_id(0) == 0) *filled = 0;
  for (uint step = 0; step < entries; step += STEP) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (uint at = step + get_local_id(0); at < step + STEP; at += get_local_size(0)) {
      if (table[2 * at] == 0) continue;
      __global const uchar* word = text + table[2 * at] - 1;
      if ((int)((hash(word) >> 16) % (uint)devices) != device) continue;
      put_record(batch + RECORD * (1 + atomic_inc(filled)), word, table[2 * at + 1]);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    int count = *filled;
    int is_full = count > STEP || (count > 0 && step + STEP >= entries);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (is_full && get_local_id(0) == 0) {
      *(__global uint*)batch = count;
      *filled = 0;
    }
    int sent = rcl_send_all(g, is_full ? socket : -1, batch, RECORD * (1 + count));
    if (is_full && sent < 0) error = sent;
  }
  return error;
}

// Each work-group counts the words that begin in its part of the text from `first` on, and sends them. `map_tables`,
// `batches` and `sockets` have a part for each work-group.
__kernel void map_words(__global rcl_net* net, __global const char* addresses, int me, int devices,
                        __global const uchar* text, uint first, uint size, __global uint* map_tables, uint entries,
                        __global uchar* batches, __global int* sockets, volatile __global int* status) {
  RCL_GROUP(g, net);
  __local int filled;
  int group = get_group_id(0), groups = get_num_groups(0);
  __global uint* table = map_tables + (size_t)2 * entries * group;
  __global uchar* batch = batches + (size_t)RECORD * (2 * STEP + 1) * group;
  sockets += devices * group;
  uint begin = first + (ulong)size * group / groups, end = first + (ulong)size * (group + 1) / groups;
  count_words(text, begin, end, table, entries, status);
  // All connections are there before the first byte is sent: a reducer first accepts, then reads from whoever sends.
  for (int device = 0; device < devices; ++device) {
    int socket = rcl_connect(g, addresses + ADDRESS * device);
    if (socket < 0) fail(status, socket);
    if (get_local_id(0) == 0) sockets[device] = socket;
  }
  for (int k = 0; k < devices; ++k) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    int device = (me + k) % devices;  // not all to the same one first
    int error = send_words(g, sockets[device], device, devices, text, table, entries, batch, &filled);
    if (error < 0) fail(status, error);
    rcl_close(g, sockets[device]);
  }
}

// The work-groups share the connections: each accepts its part of them and reads from whoever sends, into the arena,
// where the words stay. `sockets` and `ready` have a part for each work-group, `wanted` RCL_POLLIN for each connection.
__kernel void reduce_words(__global rcl_net* net, int listener, int connections, __global uchar* arena,
                           uint arena_records, volatile __global uint* arena_used, __global uint* table, uint entries,
                           __global int* sockets, __global const uint* wanted, __global uint* ready,
                           volatile __global int* status) {
  RCL_GROUP(g, net);
  __local uint header[RECORD / 4];
  __local uint place;
  int group = get_group_id(0), groups = get_num_groups(0);
  sockets += connections * group;
  ready += connections * group;
  int mine = (connections - group + groups - 1) / groups, open = 0;
  for (int k = 0; k < mine; ++k) {
    int socket = rcl_accept(g, listener);
    if (socket < 0) fail(status, socket);
    if (get_local_id(0) == 0) sockets[k] = socket;
    open += socket >= 0;
  }
  while (open > 0) {
    int result = rcl_poll(g, sockets, wanted, ready, mine, -1);
    for (int k = ready_before(ready, mine); k >= 0; k = ready_before(ready, k)) {
      int socket = sockets[k];
      int got = rcl_recv_all(g, socket, (__local uchar*)header, RECORD);
      uint count = got == RECORD ? min(header[0], 2u * STEP) : 0;
      if (get_local_id(0) == 0) place = atomic_add(arena_used, count);
      barrier(CLK_LOCAL_MEM_FENCE);
      uint first = place;
      int has_room = count > 0 && first + count <= arena_records, size = RECORD * (int)count;
      int body = rcl_recv_all(g, has_room ? socket : -1, arena + (size_t)RECORD * first, size);
      int is_whole = has_room && body == size;
      for (uint i = get_local_id(0); is_whole && i < count; i += get_local_size(0)) {
        uint record = RECORD * (first + i);
        if (!add(table, entries, arena, record + 4, *(__global uint*)(arena + record))) fail(status, 1);
      }
      if (got != 0 && !is_whole) fail(status, got < 0 ? got : 1);  // 0: the mapper has sent all
      rcl_close(g, is_whole ? -1 : socket);
      if (!is_whole && get_local_id(0) == 0) sockets[k] = -1;
      open -= !is_whole;
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (result < 0) {
      fail(status, result);
      open = 0;
    }
  }
}
