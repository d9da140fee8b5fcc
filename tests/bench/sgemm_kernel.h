#pragma once

namespace remotecl::bench {

// c = a * b, row-major; a and b have n columns, c the rows from `first_row` on, one group for each BM x BN of them.
// A work item has TM x TN elements in registers, as pieces of 4 x 4 spread over the tile so that neighbours read
// neighbouring words of local memory. The next BK columns and rows are fetched while the present ones are used.
// `fill` makes a matrix whose elements are multiples of 1/128 from -1 to 1, which host and device compute alike.
inline constexpr const char* kSgemmSource = R"(
#define ITEMS ((BM / TM) * (BN / TN))
#define A_LOADS (BM * BK / 4 / ITEMS)
#define B_LOADS (BK * BN / 4 / ITEMS)

kernel void fill(global float* matrix, uint seed) {
  uint h = ((uint)get_global_id(0) + seed * 0x9e3779b9u) * 2654435761u;
  h = (h ^ (h >> 15)) * 0x85ebca6bu;
  matrix[get_global_id(0)] = (float)(h >> 24) / 128.0f - 1.0f;
}

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1)))
void multiply(global const float* restrict a, global const float* restrict b, global float* restrict c, uint n,
              uint first_row) {
  local float as[BK][BM];
  local float bs[BK][BN];
  const uint item = get_local_id(0);
  const uint x = item % (BN / TN) * 4;
  const uint y = item / (BN / TN) * 4;
  global const float* a_tile = a + (size_t)(first_row + get_group_id(1) * BM) * n;
  global const float* b_tile = b + get_group_id(0) * BN;

  float4 sum[TM][TN / 4];
  #pragma unroll
  for (uint i = 0; i < TM; ++i)
    for (uint j = 0; j < TN / 4; ++j) sum[i][j] = (float4)(0.0f);

  float4 next_a[A_LOADS], next_b[B_LOADS];
  for (uint l = 0; l < A_LOADS; ++l) {
    const uint at = item + l * ITEMS;
    next_a[l] = vload4(0, a_tile + (size_t)(at / (BK / 4)) * n + at % (BK / 4) * 4);
  }
  for (uint l = 0; l < B_LOADS; ++l) {
    const uint at = item + l * ITEMS;
    next_b[l] = vload4(0, b_tile + (size_t)(at / (BN / 4)) * n + at % (BN / 4) * 4);
  }

  for (uint k0 = 0; k0 < n; k0 += BK) {
    for (uint l = 0; l < A_LOADS; ++l) {
      const uint at = item + l * ITEMS;
      const uint row = at / (BK / 4), k = at % (BK / 4) * 4;
      as[k][row] = next_a[l].x;
      as[k + 1][row] = next_a[l].y;
      as[k + 2][row] = next_a[l].z;
      as[k + 3][row] = next_a[l].w;
    }
    for (uint l = 0; l < B_LOADS; ++l) {
      const uint at = item + l * ITEMS;
      vstore4(next_b[l], 0, &bs[at / (BN / 4)][at % (BN / 4) * 4]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint k1 = k0 + BK;
    if (k1 < n) {
      for (uint l = 0; l < A_LOADS; ++l) {
        const uint at = item + l * ITEMS;
        next_a[l] = vload4(0, a_tile + (size_t)(at / (BK / 4)) * n + k1 + at % (BK / 4) * 4);
      }
      for (uint l = 0; l < B_LOADS; ++l) {
        const uint at = item + l * ITEMS;
        next_b[l] = vload4(0, b_tile + (size_t)(k1 + at / (BN / 4)) * n + at % (BN / 4) * 4);
      }
    }
    #pragma unroll
    for (uint k = 0; k < BK; ++k) {
      float4 of_a[TM / 4], of_b[TN / 4];
      #pragma unroll
      for (uint i = 0; i < TM / 4; ++i) of_a[i] = vload4(0, &as[k][i * (BM / (TM / 4)) + y]);
      #pragma unroll
      for (uint j = 0; j < TN / 4; ++j) of_b[j] = vload4(0, &bs[k][j * (BN / (TN / 4)) + x]);
      #pragma unroll
      for (uint i = 0; i < TM / 4; ++i) {
        #pragma unroll
        for (uint j = 0; j < TN / 4; ++j) {
          sum[i * 4][j] = fma((float4)(of_a[i].x), of_b[j], sum[i * 4][j]);
          sum[i * 4 + 1][j] = fma((float4)(of_a[i].y), of_b[j], sum[i * 4 + 1][j]);
          sum[i * 4 + 2][j] = fma((float4)(of_a[i].z), of_b[j], sum[i * 4 + 2][j]);
          sum[i * 4 + 3][j] = fma((float4)(of_a[i].w), of_b[j], sum[i * 4 + 3][j]);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  for (uint i = 0; i < TM; ++i) {
    const size_t row = get_group_id(1) * BM + i / 4 * (BM / (TM / 4)) + y + i % 4;
    for (uint j = 0; j < TN / 4; ++j) {
      vstore4(sum[i][j], 0, c + row * n + get_group_id(0) * BN + j * (BN / (TN / 4)) + x);
    }
  }
}
)";

}  // namespace remotecl::bench
