// y = A^T (A x) in two kernels.
//
// Pointers are not `__restrict__`, so every partial sum is written to memory: the running sums are part of the access
// stream of the published benchmark, and of the page traffic that unified-memory studies count.

// tmp = A x: one row per thread, so the lanes of a warp read a whole row apart.
extern "C" __global__ void atax_kernel1(int rows, int cols, const float *a, const float *x, float *tmp)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    tmp[row] = 0.0f;
    for (int col = 0; col < cols; col++)
        tmp[row] += a[row * cols + col] * x[col];
}

// y = A^T tmp: one column per thread, so the lanes of a warp read neighbours.
extern "C" __global__ void atax_kernel2(int rows, int cols, const float *a, const float *tmp, float *y)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    y[col] = 0.0f;
    for (int row = 0; row < rows; row++)
        y[col] += a[row * cols + col] * tmp[row];
}
