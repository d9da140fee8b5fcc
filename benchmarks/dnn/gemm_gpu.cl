// A work-group of 16 x 16 computes TILE rows and columns, each work-item a square of them, from tiles in local memory.
#define SIDE 16
#define DEPTH 8
#define OWN (TILE / SIDE)
#define LOADS (TILE * DEPTH / (SIDE * SIDE))

#ifdef TRANSPOSE_A
#define A_AT(row, k) a[(size_t)(k) * a_stride + (row)]
#define A_PLACE(at, row, k) const int row = (at) % TILE, k = (at) / TILE
#else
#define A_AT(row, k) a[(size_t)(row) * a_stride + (k)]
#define A_PLACE(at, row, k) const int row = (at) / DEPTH, k = (at) % DEPTH
#endif
#ifdef TRANSPOSE_B
#define B_AT(k, column) b[(size_t)(column) * b_stride + (k)]
#define B_PLACE(at, k, column) const int column = (at) / DEPTH, k = (at) % DEPTH
#else
#define B_AT(k, column) b[(size_t)(k) * b_stride + (column)]
#define B_PLACE(at, k, column) const int column = (at) % TILE, k = (at) / TILE
#endif

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1)))
void multiply(__global const float* restrict a, const int a_offset, const int a_stride,
              __global const float* restrict b, const int b_offset, const int b_stride,
              __global float* restrict product, const int offset, const int stride,
              const int rows, const int columns, const int depth, const int part_depth, const int add) {
  __local float a_tile[DEPTH][TILE + 1];  // the odd stride avoids bank conflicts
  __local float b_tile[DEPTH][TILE + 1];
  const int x = get_local_id(0), y = get_local_id(1), item = y * SIDE + x;
  const int first_column = get_group_id(0) * TILE, first_row = get_group_id(1) * TILE, part = get_group_id(2);
  const int begin = part * part_depth, end = min(depth, begin + part_depth);
  a += a_offset;
  b += b_offset;
  product += offset + (size_t)part * rows * columns;
  float sum[OWN][OWN];
#pragma unroll
  for (int i = 0; i < OWN; ++i)
#pragma unroll
    for (int j = 0; j < OWN; ++j) sum[i][j] = 0;

  for (int start = begin; start < end; start += DEPTH) {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const int at = item + SIDE * SIDE * i;
      A_PLACE(at, row, a_k);
      B_PLACE(at, b_k, column);
      a_tile[a_k][row] = first_row + row < rows && start + a_k < end ? A_AT(first_row + row, start + a_k) : 0;
      b_tile[b_k][column] =
          first_column + column < columns && start + b_k < end ? B_AT(start + b_k, first_column + column) : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < DEPTH; ++k) {
      float a_own[OWN], b_own[OWN];
#pragma unroll
      for (int i = 0; i < OWN; ++i) a_own[i] = a_tile[k][y + SIDE * i];
#pragma unroll
      for (int j = 0; j < OWN; ++j) b_own[j] = b_tile[k][x + SIDE * j];
#pragma unroll
      for (int i = 0; i < OWN; ++i)
#pragma unroll
        for (int j = 0; j < OWN; ++j) sum[i][j] += a_own[i] * b_own[j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

#pragma unroll
  for (int i = 0; i < OWN; ++i) {
    const int row = first_row + y + SIDE * i;
#pragma unroll
    for (int j = 0; j < OWN; ++j) {
      const int column = first_column + x + SIDE * j;
      if (row >= rows || column >= columns) continue;
      __global float* element = product + (size_t)row * stride + column;
      *element = add ? *element + sum[i][j] : sum[i][j];
    }
  }
}
