// A work-item computes a tile of the product in vector registers. Neighbours share columns of B, which stay in a cache.
// gemm.py knows the tiles' sizes.
#ifdef TRANSPOSE_A
#define A_AT(row, k) a[(size_t)(k) * a_stride + (row)]
#else
#define A_AT(row, k) a[(size_t)(row) * a_stride + (k)]
#endif

__kernel void multiply(__global const float* restrict a, const int a_offset, const int a_stride,
                       __global const float* restrict b, const int b_offset, const int b_stride,
                       __global float* restrict product, const int offset, const int stride,
                       const int rows, const int columns, const int depth, const int part_depth, const int add) {
  const int part = get_global_id(2), begin = part * part_depth, end = min(depth, begin + part_depth);
  a += a_offset;
  b += b_offset;
  product += offset + (size_t)part * rows * columns;
#ifdef TRANSPOSE_B  // rows of both are contiguous: 4 x 4 dot products
  const int first_row = get_global_id(0) * 4, first_column = get_global_id(1) * 4;
  float16 sums[4][4];
  float rest[4][4];
  const __global float *a_row[4], *b_row[4];
  // What is beyond the last row is computed from the last row, and not stored.
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    a_row[i] = a + (size_t)min(first_row + i, rows - 1) * a_stride;
    b_row[i] = b + (size_t)min(first_column + i, columns - 1) * b_stride;
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = 0, rest[i][j] = 0;
  }
  int k = begin;
  for (; k + 16 <= end; k += 16) {
    float16 b_own[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) b_own[j] = vload16(0, b_row[j] + k);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float16 a_own = vload16(0, a_row[i] + k);
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] = fma(a_own, b_own[j], sums[i][j]);
    }
  }
  for (; k < end; ++k)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) rest[i][j] += a_row[i][k] * b_row[j][k];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float8 eight = sums[i][j].lo + sums[i][j].hi;
      const float4 four = eight.lo + eight.hi;
      const float sum = four.x + four.y + four.z + four.w + rest[i][j];
      const int row = first_row + i, column = first_column + j;
      if (row >= rows || column >= columns) continue;
      __global float* element = product + (size_t)row * stride + column;
      *element = add ? *element + sum : sum;
    }
  }
#else  // 8 rows of 32 columns
  const int first_row = get_global_id(0) * 8, first_column = get_global_id(1) * 32;
  const int own_columns = min(32, columns - first_column);
  float16 sums[8][2];
  int row_of[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    row_of[i] = min(first_row + i, rows - 1);
    sums[i][0] = 0;
    sums[i][1] = 0;
  }
  b += first_column;
  if (own_columns == 32) {
    for (int k = begin; k < end; ++k) {
      const float16 left = vload16(0, b + (size_t)k * b_stride), right = vload16(1, b + (size_t)k * b_stride);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float16 own = (float16)(A_AT(row_of[i], k));
        sums[i][0] = fma(own, left, sums[i][0]);
        sums[i][1] = fma(own, right, sums[i][1]);
      }
    }
  } else {
    float row[32];
    for (int j = 0; j < 32; ++j) row[j] = 0;
    for (int k = begin; k < end; ++k) {
      for (int j = 0; j < own_columns; ++j) row[j] = b[(size_t)k * b_stride + j];
      const float16 left = vload16(0, row), right = vload16(1, row);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float16 own = (float16)(A_AT(row_of[i], k));
        sums[i][0] = fma(own, left, sums[i][0]);
        sums[i][1] = fma(own, right, sums[i][1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    if (first_row + i >= rows) break;
    __global float* to = product + (size_t)(first_row + i) * stride + first_column;
    if (own_columns == 32) {
      vstore16(add ? vload16(0, to) + sums[i][0] : sums[i][0], 0, to);
      vstore16(add ? vload16(1, to) + sums[i][1] : sums[i][1], 1, to);
    } else {
      float row[32];
      vstore16(sums[i][0], 0, row);
      vstore16(sums[i][1], 1, row);
      for (int j = 0; j < own_columns; ++j) to[j] = add ? to[j] + row[j] : row[j];
    }
  }
#endif
}
