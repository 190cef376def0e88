// C = A B, one element of C per thread and nothing shared: A is m x n, B is n x p.

extern "C" __global__ void matmul_naive(const float *__restrict__ a, const float *__restrict__ b,
                                        float *__restrict__ c, int m, int n, int p)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= p)
        return;
    float sum = 0.0f;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * p + col];
    c[row * p + col] = sum;
}
