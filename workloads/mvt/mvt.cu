// x1 += A y1 and x2 += A^T y2, with a thread per row (or column) on a one-dimensional grid.
//
// In blocks of two dimensions, threads that share threadIdx.x repeat the same row (or column). All of them read the old value
// before any of them writes (the barrier), then write the same running sums; the last store to a location is always a
// complete sum, so the result does not depend on the order of the warps.

extern "C" __global__ void mvt_kernel1(int n, const float *a, const float *y1, float *x1)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = row < n ? x1[row] : 0.0f;
    __syncthreads();
    if (row >= n)
        return;
    for (int col = 0; col < n; col++) {
        sum += a[row * n + col] * y1[col];
        x1[row] = sum;
    }
}

extern "C" __global__ void mvt_kernel2(int n, const float *a, const float *y2, float *x2)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = col < n ? x2[col] : 0.0f;
    __syncthreads();
    if (col >= n)
        return;
    for (int row = 0; row < n; row++) {
        sum += a[row * n + col] * y2[row];
        x2[col] = sum;
    }
}
