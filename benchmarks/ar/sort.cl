// Points in the order of their distance to the viewer, the farthest first: a stable radix sort, a byte of the keys at a
// time. Each work-item has a chunk of consecutive keys. `table` has, for each value of a byte, a number for each chunk.

#define DIGITS 256
// Distances are those of NumPy, bit for bit.
#pragma OPENCL FP_CONTRACT OFF

kernel void make_keys(
    global const float4* points, global const ulong* content, global const float* pose, global uint* keys, global uint* values)
{
    const uint i = get_global_id(0);
    if (i >= *content / sizeof(float4)) return;
    const float3 way = points[i].xyz - (float3)(pose[0], pose[1], pose[2]);
    // Positive floats have the order of their bits.
    keys[i] = ~as_uint(way.x * way.x + way.y * way.y + way.z * way.z);
    values[i] = i;
}

kernel void count_digits(global const uint* keys, global const ulong* content, global uint* table, uint shift)
{
    const ulong count = *content / sizeof(float4);
    const uint chunk = get_global_id(0), chunks = get_global_size(0);
    uint counts[DIGITS];
    for (uint digit = 0; digit < DIGITS; ++digit) counts[digit] = 0;
    const uint end = count * (chunk + 1) / chunks;
    for (uint i = count * chunk / chunks; i < end; ++i) ++counts[keys[i] >> shift & 255];
    for (uint digit = 0; digit < DIGITS; ++digit) table[digit * chunks + chunk] = counts[digit];
}

// `table` has become the place of each chunk's first key with each digit. `header` is 1 where values go behind their number.
kernel void move(global const uint* keys, global const uint* values, global const ulong* content, global const uint* table,
                 uint shift, uint header, global uint* to_keys, global uint* to_values)
{
    const ulong count = *content / sizeof(float4);
    const uint chunk = get_global_id(0), chunks = get_global_size(0);
    uint places[DIGITS];
    for (uint digit = 0; digit < DIGITS; ++digit) places[digit] = table[digit * chunks + chunk];
    const uint end = count * (chunk + 1) / chunks;
    for (uint i = count * chunk / chunks; i < end; ++i) {
        const uint to = places[keys[i] >> shift & 255]++;
        to_keys[to] = keys[i];
        to_values[header + to] = values[i];
    }
    if (header && chunk == 0) to_values[0] = count;
}
