// Products of matrices of half precision, by warps (`nvcuda::wmma`).
#include "check.h"
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

using namespace nvcuda;

// One warp for each 16 x 16 tile of C = A B, where A is M x K by rows, B is K x N by columns.
__global__ void product(const half *a, const half *b, float *c, int m, int n, int k) {
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(left, a + row * k + i, k);
        wmma::load_matrix_sync(right, b + column * k + i, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] *= 2.0f;
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}

int main() {
    const int m = 32, n = 48, k = 64;
    std::vector<half> a(m * k), b(n * k);
    for (int i = 0; i < m * k; ++i) a[i] = __float2half(float(i * 7 % 13 - 6));
    for (int i = 0; i < n * k; ++i) b[i] = __float2half(float(i * 5 % 11 - 5) / 4);
    half *on_a, *on_b;
    float *on_c;
    CUDA(cudaMalloc(&on_a, m * k * sizeof(half)));
    CUDA(cudaMalloc(&on_b, n * k * sizeof(half)));
    CUDA(cudaMalloc(&on_c, m * n * sizeof(float)));
    CUDA(cudaMemcpy(on_a, a.data(), m * k * sizeof(half), cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(on_b, b.data(), n * k * sizeof(half), cudaMemcpyHostToDevice));
    product<<<dim3(n / 16, m / 16), 32>>>(on_a, on_b, on_c, m, n, k);
    std::vector<float> c(m * n);
    CUDA(cudaMemcpy(c.data(), on_c, m * n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int y = 0; y < m; ++y)
        for (int x = 0; x < n; ++x) {
            float sum = 0;
            for (int i = 0; i < k; ++i) sum += __half2float(a[y * k + i]) * __half2float(b[x * k + i]);
            EXPECT(c[y * n + x] == 2 * sum);
        }
    std::puts("wmma: all is right");
    return 0;
}
