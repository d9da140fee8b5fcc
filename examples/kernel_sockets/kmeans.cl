// k-means as iterated MapReduce in one launch: in each iteration the mapping work-groups of all devices send the sums of
// their points, cluster by cluster, to the device that reduces the cluster, and get the new centroids back from there.
// Coordinates are whole numbers below 4096 and means are rounded, so the result does not depend on any order.
#include "remotecl/net.cl"

#define ADDRESS 64  // bytes for each address

// The clusters [first, last) that a device reduces.
int first_cluster(int clusters, int device, int devices) { return clusters * device / devices; }

void fail(volatile __global int* status, int error) { atomic_cmpxchg(status, 0, error); }

int nearest(__global const int* point, __global const int* centroids, int clusters, int dimensions) {
  int best = 0;
  uint least = UINT_MAX;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    uint distance = 0;
    for (int d = 0; d < dimensions; ++d) {
      int difference = point[d] - centroids[cluster * dimensions + d];
      distance += (uint)(difference * difference);
    }
    if (distance < least) {
      least = distance;
      best = cluster;
    }
  }
  return best;
}

// For each cluster: the sum of its points' coordinates, and how many they are.
void add_points(__global const int* points, int begin, int end, __global const int* centroids, int clusters,
                int dimensions, volatile __global uint* sums) {
  int width = dimensions + 1;
  for (int k = get_local_id(0); k < clusters * width; k += get_local_size(0)) sums[k] = 0;
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int at = begin + get_local_id(0); at < end; at += get_local_size(0)) {
    __global const int* point = points + (size_t)dimensions * at;
    volatile __global uint* sum = sums + width * nearest(point, centroids, clusters, dimensions);
    for (int d = 0; d < dimensions; ++d) atomic_add(sum + d, (uint)point[d]);
    atomic_inc(sum + dimensions);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
}

// Each work-group maps a part of the points. `centroids`, `sums` and `sockets` have a part for each; all centroids are
// the same at the end. After an error, the calls on that socket fail at once.
__kernel void map_points(__global rcl_net* net, __global const char* addresses, int devices, int iterations,
                         __global const int* points, int point_count, int clusters, int dimensions,
                         __global int* centroids, __global uint* sums, __global int* sockets,
                         volatile __global int* status) {
  RCL_GROUP(g, net);
  int group = get_group_id(0), groups = get_num_groups(0);
  int begin = (long)point_count * group / groups, end = (long)point_count * (group + 1) / groups;
  centroids += clusters * dimensions * group;
  sums += clusters * (dimensions + 1) * group;
  sockets += devices * group;
  for (int device = 0; device < devices; ++device) {
    int socket = rcl_connect(g, addresses + ADDRESS * device);
    if (socket < 0) fail(status, socket);
    if (get_local_id(0) == 0) sockets[device] = socket;
  }
  for (int k = 0; k < iterations; ++k) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    add_points(points, begin, end, centroids, clusters, dimensions, sums);
    for (int device = 0; device < devices; ++device) {
      int first = first_cluster(clusters, device, devices);
      int count = first_cluster(clusters, device + 1, devices) - first;
      int bytes = count * (dimensions + 1) * (int)sizeof(uint);
      int sent = rcl_send_all(g, sockets[device], (__global const uchar*)(sums + first * (dimensions + 1)), bytes);
      if (sent < 0) fail(status, sent);
    }
    for (int device = 0; device < devices; ++device) {
      int first = first_cluster(clusters, device, devices);
      int count = first_cluster(clusters, device + 1, devices) - first;
      int bytes = count * dimensions * (int)sizeof(int);
      int got = rcl_recv_all(g, sockets[device], (__global uchar*)(centroids + first * dimensions), bytes);
      if (got != bytes) fail(status, got < 0 ? got : 1);
    }
  }
  for (int device = 0; device < devices; ++device) rcl_close(g, sockets[device]);
}

// New centroids from the sums of all mappers; a cluster without points stays where it is.
void reduce_sums(__global const uint* sums, int mappers, int count, int dimensions, __global int* centroids) {
  int width = dimensions + 1;
  for (int k = get_local_id(0); k < count * dimensions; k += get_local_size(0)) {
    ulong total = 0, points = 0;
    for (int mapper = 0; mapper < mappers; ++mapper) {
      __global const uint* sum = sums + width * (count * mapper + k / dimensions);
      total += sum[k % dimensions];
      points += sum[dimensions];
    }
    if (points > 0) centroids[k] = (int)((total + points / 2) / points);
  }
}

// One work-group reduces this device's `count` clusters; `sums` has room for what each mapper sends of them.
__kernel void reduce_points(__global rcl_net* net, int listener, int mappers, int iterations, int count, int dimensions,
                            __global int* centroids, __global uint* sums, __global int* sockets,
                            volatile __global int* status) {
  RCL_GROUP(g, net);
  for (int k = 0; k < mappers; ++k) {
    int socket = rcl_accept(g, listener);
    if (socket < 0) fail(status, socket);
    if (get_local_id(0) == 0) sockets[k] = socket;
  }
  int sums_bytes = count * (dimensions + 1) * (int)sizeof(uint), bytes = count * dimensions * (int)sizeof(int);
  for (int k = 0; k < iterations; ++k) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int mapper = 0; mapper < mappers; ++mapper) {
      int got = rcl_recv_all(g, sockets[mapper], (__global uchar*)sums + (size_t)sums_bytes * mapper, sums_bytes);
      if (got != sums_bytes) fail(status, got < 0 ? got : 1);
    }
    reduce_sums(sums, mappers, count, dimensions, centroids);
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int mapper = 0; mapper < mappers; ++mapper) {
      int sent = rcl_send_all(g, sockets[mapper], (__global const uchar*)centroids, bytes);
      if (sent < 0) fail(status, sent);
    }
  }
  for (int k = 0; k < mappers; ++k) rcl_close(g, sockets[k]);
}
