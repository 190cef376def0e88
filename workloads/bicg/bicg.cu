// The two matrix-vector products of a biconjugate-gradient step: s = A^T r and q = A p.
//
// Pointers are not `__restrict__`, so every partial sum is written to memory: the running sums are part of the access
// stream of the published benchmark, and of the page traffic that unified-memory studies count.

// s = A^T r: one column per thread, coalesced.
extern "C" __global__ void bicg_kernel1(int rows, int cols, const float *a, const float *r, float *s)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col >= cols)
        return;
    s[col] = 0.0f;
    for (int row = 0; row < rows; row++)
        s[col] += r[row] * a[row * cols + col];
}

// q = A p: one row per thread, the lanes of a warp a whole row apart.
extern "C" __global__ void bicg_kernel2(int rows, int cols, const float *a, const float *p, float *q)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    q[row] = 0.0f;
    for (int col = 0; col < cols; col++)
        q[row] += a[row * cols + col] * p[col];
}
