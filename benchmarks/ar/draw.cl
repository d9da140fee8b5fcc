// Points as squares, each blended over those behind it. PIXELS is the rows and columns of the image.

#define OPAQUE 192
#define BACKGROUND 0x302820

typedef struct {
    short x, y, size, unused;
    uint colour;
} Square;

// `pose` is the viewer's position and a 4x4 matrix to clip coordinates, row after row. `order` has the number of points first.
kernel void project(
    global const float4* points, global const uint* order, global const float* pose, global Square* squares)
{
    const uint i = get_global_id(0);
    if (i >= order[0]) return;
    const float4 point = points[order[1 + i]];
    const float4 at = (float4)(point.xyz, 1);
    const float x = dot(vload4(1, pose), at), y = dot(vload4(2, pose), at), w = dot(vload4(4, pose), at);
    Square square = {0, 0, 0, 0, as_uint(point.w)};
    if (w > 0.1f && fabs(x) < w && fabs(y) < w) {
        square.size = max(1, (int)(POINT_SIZE * PIXELS / w + 0.5f));
        square.x = (int)((x / w + 1) / 2 * PIXELS) - square.size / 2;
        square.y = (int)((1 - y / w) / 2 * PIXELS) - square.size / 2;
    }
    squares[i] = square;
}

uint blended(uint behind, uint colour)
{
    // Red and blue together: their sums do not reach each other.
    const uint red_blue = (colour & 0xff00ff) * OPAQUE + (behind & 0xff00ff) * (256 - OPAQUE);
    const uint green = (colour & 0xff00) * OPAQUE + (behind & 0xff00) * (256 - OPAQUE);
    return (red_blue >> 8 & 0xff00ff) | (green >> 8 & 0xff00);
}

// Each work-item has a band of consecutive rows, so that none of them waits for another one's squares.
kernel void blend(global const Square* squares, global const uint* order, global uint* image, global ushort* packed)
{
    const int first = get_global_id(0) * PIXELS / get_global_size(0);
    const int end = (get_global_id(0) + 1) * PIXELS / get_global_size(0);
    const uint count = order[0];
    for (int i = first * PIXELS; i < end * PIXELS; ++i) image[i] = BACKGROUND;
    for (uint i = 0; i < count; ++i) {
        const Square square = squares[i];
        const int top = max(first, (int)square.y), bottom = min(end, square.y + square.size);
        const int left = max(0, (int)square.x), right = min(PIXELS, square.x + square.size);
        for (int y = top; y < bottom; ++y)
            for (int x = left; x < right; ++x) image[y * PIXELS + x] = blended(image[y * PIXELS + x], square.colour);
    }
    // Five, six and five bits of red, green and blue.
    for (int i = first * PIXELS; i < end * PIXELS; ++i)
        packed[i] = (image[i] & 0xf8) << 8 | (image[i] >> 5 & 0x7e0) | (image[i] >> 19 & 0x1f);
}
