// From a picture to points. PATCH, COLUMNS, WIDTH and HEIGHT (of the picture), DEPTH_LOW, DEPTH_STEPS, OCCUPANCY_LIMIT and
// CHUNK are macros. A chunk is CHUNK blocks of 2x2 pixels beside each other; points keep the order of chunks.

#define HALF (HEIGHT / 2)
#define CHUNKS_OF_A_ROW (WIDTH / 2 / CHUNK)

global const uchar* chroma_of(global const uchar* picture, uint row, uint column)
{
    return picture + WIDTH * HEIGHT + row * WIDTH + 2 * column;
}

kernel void count_points(global const uchar* picture, global uint* counts)
{
    const uint chunk = get_global_id(0);
    const uint row = chunk / CHUNKS_OF_A_ROW, first = chunk % CHUNKS_OF_A_ROW * CHUNK;
    uint count = 0;
    for (uint column = first; column < first + CHUNK; ++column)
        count += chroma_of(picture, row, column)[0] >= OCCUPANCY_LIMIT ? 4 : 0;
    counts[chunk] = count;
}

float4 position_of(uint row, uint column, uchar luma)
{
    const float u = (column % PATCH + 0.5f) / PATCH * 2 - 1, v = (row % PATCH + 0.5f) / PATCH * 2 - 1;
    const float depth = ((float)luma - DEPTH_LOW) / DEPTH_STEPS * 2 - 1;
    // Two patches look along each axis.
    const uint axis = (row / PATCH * COLUMNS + column / PATCH) / 2;
    if (axis == 0) return (float4)(depth, u, v, 0);
    return axis == 1 ? (float4)(v, depth, u, 0) : (float4)(u, v, depth, 0);
}

uint colour_of(uchar luma, global const uchar* chroma)
{
    const float y = luma, u = chroma[0] - 128.0f, v = chroma[1] - 128.0f;
    const uchar4 rgb = convert_uchar4_sat_rte((float4)(y + 1.402f * v, y - 0.344136f * u - 0.714136f * v, y + 1.772f * u, 0));
    return rgb.x | rgb.y << 8 | rgb.z << 16;
}

// `counts` has become the number of points before each chunk. `content` gets the bytes of all points.
kernel void write_points(
    global const uchar* picture, global const uint* counts, global float4* points, global ulong* content)
{
    const uint chunk = get_global_id(0);
    const uint row = chunk / CHUNKS_OF_A_ROW, first = chunk % CHUNKS_OF_A_ROW * CHUNK;
    uint to = counts[chunk];
    for (uint column = first; column < first + CHUNK; ++column) {
        if (chroma_of(picture, row, column)[0] < OCCUPANCY_LIMIT) continue;
        global const uchar* chroma = chroma_of(picture, row + HALF / 2, column);
        for (uint pixel = 0; pixel < 4; ++pixel) {
            const uint y = 2 * row + pixel / 2, x = 2 * column + pixel % 2;
            float4 point = position_of(y, x, picture[y * WIDTH + x]);
            point.w = as_float(colour_of(picture[(y + HALF) * WIDTH + x], chroma));
            points[to++] = point;
        }
    }
    if (chunk == get_global_size(0) - 1) *content = to * sizeof(float4);
}
