// Products of matrices, in tiles: 4 ROWS threads compute ROWS x 64 results, each thread 4 x 4 of them in registers, from
// slices of 16 columns of A and 16 rows of B in shared memory.
//
// A matrix is given by its data, the distance of its rows, and how its columns are grouped: column c stands at
// (c / group) * group_stride + c % group. So the batch of a convolution is one matrix (channels x pixels of all
// images), although each image stores its own channels.
//
// Products with few results and long sums are split over blockIdx.z: each part is stored apart (at part * split_stride)
// and sum_partials adds them, in a fixed order.

#define SLICE 16
#define TILE_COLS 64

__device__ __forceinline__ int column_offset(int column, int group, int group_stride) {
    return column / group * group_stride + column % group;
}

// How much of `width` places is needed to have `left` of them, in whole groups of 4 as threads use them.
__device__ __forceinline__ int needed(int width, int left) { return min(width, (left + 3) & ~3); }

// Loads a slice of a matrix whose rows run along the sum: WIDTH rows from `first`, 16 columns from `from`; transposes it.
template <int WIDTH, int THREADS>
__device__ __forceinline__ void load_across(
    float (*slice)[WIDTH + 4], const float *data, int row_stride, int group, int stride, int first, int limit, int from,
    int end) {
    const int across = threadIdx.x % SLICE, down = threadIdx.x / SLICE;
    const bool inside = from + across < end;
    const float *source = data + (inside ? column_offset(from + across, group, stride) : 0) + (first + down) * row_stride;
    if (first + WIDTH <= limit && from + SLICE <= end) {
#pragma unroll 8
        for (int row = 0; row < WIDTH; row += THREADS / SLICE) {
            slice[across][down + row] = *source;
            source += THREADS / SLICE * row_stride;
        }
    } else if (across < needed(SLICE, end - from)) {
        const int rows = needed(WIDTH, limit - first);
#pragma unroll 2
        for (int row = down; row < rows; row += THREADS / SLICE) {
            slice[across][row] = inside && first + row < limit ? *source : 0.0f;
            source += THREADS / SLICE * row_stride;
        }
    }
}

// Loads a slice of a matrix whose rows are the steps of the sum: 16 rows from `from`, WIDTH columns from `first`.
template <int WIDTH, int THREADS>
__device__ __forceinline__ void load_along(
    float (*slice)[WIDTH + 4], const float *data, int row_stride, int group, int stride, int first, int limit, int from,
    int end) {
    const int WIDE = THREADS < WIDTH ? THREADS : WIDTH, DEEP = THREADS / WIDE;
    const int down = threadIdx.x / WIDE;
#pragma unroll
    for (int pass = 0; pass < WIDTH; pass += WIDE) {
        const int col = pass + threadIdx.x % WIDE;
        const bool inside = first + col < limit;
        const float *source =
            data + (inside ? column_offset(first + col, group, stride) : 0) + (from + down) * row_stride;
        if (first + WIDTH <= limit && from + SLICE <= end) {
#pragma unroll 8
            for (int row = 0; row < SLICE; row += DEEP) {
                slice[down + row][col] = *source;
                source += DEEP * row_stride;
            }
        } else if (col < needed(WIDTH, limit - first)) {
            const int rows = needed(SLICE, end - from);
#pragma unroll 2
            for (int row = down; row < rows; row += DEEP) {
                slice[row][col] = inside && from + row < end ? *source : 0.0f;
                source += DEEP * row_stride;
            }
        }
    }
}

// C (m x n) = op(A) (m x k) * op(B) (k x n); op transposes where A_T or B_T is set.
template <int ROWS, bool A_T, bool B_T>
__device__ __forceinline__ void product(
    const float *a, int a_row, int a_group, int a_stride, const float *b, int b_row, int b_group, int b_stride, float *c,
    int c_row, int c_group, int c_stride, int m, int n, int k, int split_length, int split_stride, int add) {
    const int THREADS = 4 * ROWS;
    __shared__ __align__(16) float a_slice[SLICE][ROWS + 4];
    __shared__ __align__(16) float b_slice[SLICE][TILE_COLS + 4];
    const int first_row = blockIdx.y * ROWS, first_col = blockIdx.x * TILE_COLS;
    const int begin = blockIdx.z * split_length;
    const int end = min(k, begin + split_length);
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

    const bool busy = first_row + ty * 4 < m && first_col + tx * 4 < n;

    float sums[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sums[i][j] = 0.0f;

    for (int from = begin; from < end; from += SLICE) {
        if (A_T)
            load_along<ROWS, THREADS>(a_slice, a, a_row, a_group, a_stride, first_row, m, from, end);
        else
            load_across<ROWS, THREADS>(a_slice, a, a_row, a_group, a_stride, first_row, m, from, end);
        if (B_T)
            load_across<TILE_COLS, THREADS>(b_slice, b, b_row, b_group, b_stride, first_col, n, from, end);
        else
            load_along<TILE_COLS, THREADS>(b_slice, b, b_row, b_group, b_stride, first_col, n, from, end);
        __syncthreads();
        const int steps = busy ? min(SLICE, end - from) : 0;
        for (int step = 0; step < steps; step += 4) {
#pragma unroll
            for (int s = 0; s < 4; s++) {
                const float4 left = *(const float4 *)&a_slice[step + s][ty * 4];
                const float4 right = *(const float4 *)&b_slice[step + s][tx * 4];
                const float lefts[4] = {left.x, left.y, left.z, left.w};
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    sums[i][0] += lefts[i] * right.x;
                    sums[i][1] += lefts[i] * right.y;
                    sums[i][2] += lefts[i] * right.z;
                    sums[i][3] += lefts[i] * right.w;
                }
            }
        }
        __syncthreads();
    }

    if (!busy) return;
    c += blockIdx.z * split_stride + (first_row + ty * 4) * c_row;
    const int rows = min(4, m - first_row - ty * 4);
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int col = first_col + tx * 4 + j;
        if (col >= n) break;
        float *place = c + column_offset(col, c_group, c_stride);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (i >= rows) break;
            *place = add ? *place + sums[i][j] : sums[i][j];
            place += c_row;
        }
    }
}

#define PRODUCT(NAME, ROWS, A_T, B_T)                                                                                  \
    extern "C" __global__ void NAME(                                                                                   \
        const float *a, int a_row, int a_group, int a_stride, const float *b, int b_row, int b_group, int b_stride,    \
        float *c, int c_row, int c_group, int c_stride, int m, int n, int k, int split_length, int split_stride,       \
        int add) {                                                                                                     \
        product<ROWS, A_T, B_T>(                                                                                       \
            a, a_row, a_group, a_stride, b, b_row, b_group, b_stride, c, c_row, c_group, c_stride, m, n, k,            \
            split_length, split_stride, add);                                                                          \
    }

PRODUCT(gemm_nn_8, 8, false, false)
PRODUCT(gemm_nn_16, 16, false, false)
PRODUCT(gemm_nn_32, 32, false, false)
PRODUCT(gemm_tn_8, 8, true, false)
PRODUCT(gemm_tn_16, 16, true, false)
PRODUCT(gemm_tn_32, 32, true, false)
PRODUCT(gemm_nt_8, 8, false, true)
PRODUCT(gemm_nt_16, 16, false, true)
PRODUCT(gemm_nt_32, 32, false, true)

// The sum of `parts` matrices of m x n, one behind the other, into C.
extern "C" __global__ void sum_partials(
    const float *partials, int parts, float *c, int c_row, int c_group, int c_stride, int m, int n, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    float sum = 0.0f;
    for (int part = 0; part < parts; part++) sum += partials[part * m * n + i];
    float *place = c + i / n * c_row + column_offset(i % n, c_group, c_stride);
    *place = add ? *place + sum : sum;
}
