// Products of matrices, in tiles: 128 threads compute ROWS x 64 results, each thread ROWS/8 x 4 of them in registers,
// from slices of 16 columns of A and 16 rows of B in shared memory.
//
// A matrix is given by its data, the distance of its rows, and how its columns are grouped: column c stands at
// (c / group) * group_stride + c % group. So the batch of a convolution is one matrix (channels x pixels of all
// images), although each image stores its own channels.
//
// Products with few results and long sums are split over blockIdx.z: each part is stored apart (at part * split_stride)
// and sum_partials adds them, in a fixed order.

#define SLICE 16
#define TILE_COLS 64
#define GEMM_THREADS 128

template <int WIDTH>
struct Lane;
template <> struct Lane<1> { typedef float Type; };
template <> struct Lane<2> { typedef float2 Type; };
template <> struct Lane<4> { typedef float4 Type; };

__device__ __forceinline__ int column_offset(int column, int group, int group_stride) {
    return column / group * group_stride + column % group;
}

// C (m x n) = op(A) (m x k) * op(B) (k x n); op transposes where A_T or B_T is set.
template <int ROWS, bool A_T, bool B_T>
__device__ __forceinline__ void product(
    const float *a, int a_row, int a_group, int a_stride, const float *b, int b_row, int b_group, int b_stride, float *c,
    int c_row, int c_group, int c_stride, int m, int n, int k, int split_length, int split_stride, int add) {
    const int EACH = ROWS / 8;
    __shared__ __align__(16) float a_slice[SLICE][ROWS + 4];
    __shared__ __align__(16) float b_slice[SLICE][TILE_COLS + 4];
    const int thread = threadIdx.x;
    const int first_row = blockIdx.y * ROWS, first_col = blockIdx.x * TILE_COLS;
    const int begin = blockIdx.z * split_length;
    const int end = min(k, begin + split_length);

    float sums[EACH][4];
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sums[i][j] = 0.0f;

    // What each thread loads: of A as stored with rows of k, elements (thread / 16 + 8 i, thread % 16) of the slice;
    // of A transposed, elements (thread / ROWS + 128/ROWS i, thread % ROWS); of B likewise.
    const int across = thread % SLICE, down = thread / SLICE;
    const int a_col = thread % ROWS, a_down = thread / ROWS;
    const int b_col = thread % TILE_COLS, b_down = thread / TILE_COLS;
    const bool a_inside = first_row + a_col < m, b_inside = first_col + b_col < n;
    const int a_fixed = A_T && a_inside ? column_offset(first_row + a_col, a_group, a_stride) : 0;
    const int b_fixed = !B_T && b_inside ? column_offset(first_col + b_col, b_group, b_stride) : 0;

    const int tx = thread % 16, ty = thread / 16;
    for (int from = begin; from < end; from += SLICE) {
        const bool across_inside = from + across < end;
        if (A_T) {
            const float *source = a + a_fixed + (from + a_down) * a_row;
#pragma unroll
            for (int i = 0; i < ROWS / 8; i++) {
                const int at = a_down + GEMM_THREADS / ROWS * i;
                a_slice[at][a_col] = a_inside && from + at < end ? source[GEMM_THREADS / ROWS * i * a_row] : 0.0f;
            }
        } else {
            const int column = across_inside ? column_offset(from + across, a_group, a_stride) : 0;
            const float *source = a + column + (first_row + down) * a_row;
#pragma unroll
            for (int i = 0; i < ROWS / 8; i++) {
                const int row = down + 8 * i;
                a_slice[across][row] = across_inside && first_row + row < m ? source[8 * i * a_row] : 0.0f;
            }
        }
        if (B_T) {
            const int column = across_inside ? column_offset(from + across, b_group, b_stride) : 0;
            const float *source = b + column + (first_col + down) * b_row;
#pragma unroll
            for (int i = 0; i < TILE_COLS / 8; i++) {
                const int row = down + 8 * i;
                b_slice[across][row] = across_inside && first_col + row < n ? source[8 * i * b_row] : 0.0f;
            }
        } else {
            const float *source = b + b_fixed + (from + b_down) * b_row;
#pragma unroll
            for (int i = 0; i < TILE_COLS / 8; i++) {
                const int at = b_down + 2 * i;
                b_slice[at][b_col] = b_inside && from + at < end ? source[2 * i * b_row] : 0.0f;
            }
        }
        __syncthreads();
        const int steps = min(SLICE, end - from);
        for (int step = 0; step < steps; step += 4) {
#pragma unroll
            for (int s = 0; s < 4; s++) {
                union {
                    typename Lane<EACH>::Type lanes;
                    float values[EACH];
                } left;
                left.lanes = *(const typename Lane<EACH>::Type *)&a_slice[step + s][ty * EACH];
                const float4 right = *(const float4 *)&b_slice[step + s][tx * 4];
#pragma unroll
                for (int i = 0; i < EACH; i++) {
                    sums[i][0] += left.values[i] * right.x;
                    sums[i][1] += left.values[i] * right.y;
                    sums[i][2] += left.values[i] * right.z;
                    sums[i][3] += left.values[i] * right.w;
                }
            }
        }
        __syncthreads();
    }

    c += blockIdx.z * split_stride;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        const int col = first_col + tx * 4 + j;
        if (col >= n) break;
        const int offset = column_offset(col, c_group, c_stride);
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int row = first_row + ty * EACH + i;
            if (row < m) {
                float *place = c + offset + row * c_row;
                *place = add ? *place + sums[i][j] : sums[i][j];
            }
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
