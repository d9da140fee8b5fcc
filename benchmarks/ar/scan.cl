// Replaces each value by the sum of those before it. One work-group, of ITEMS work-items.
kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void scan(global uint* values, uint count)
{
    local uint sums[ITEMS];
    const uint item = get_local_id(0);
    const uint begin = (uint)((ulong)count * item / ITEMS), end = (uint)((ulong)count * (item + 1) / ITEMS);
    uint sum = 0;
    for (uint i = begin; i < end; ++i) sum += values[i];
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (uint i = 0; i < item; ++i) sum += sums[i];
    for (uint i = begin; i < end; ++i) {
        const uint value = values[i];
        values[i] = sum;
        sum += value;
    }
}
