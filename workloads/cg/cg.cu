// Conjugate gradients on a sparse matrix in compressed rows, and the vector operations around them. Scalars stay with the
// host: a dot product leaves one partial sum per block, which the host reads and adds.

// Threads that share a row: its elements are then read in pieces of 64 bytes.
#define LANES 8

// q = A p. No thread leaves early: all of a warp take part in the exchange of partial sums.
extern "C" __global__ void cg_spmv(const int *__restrict__ rowstr, const int *__restrict__ colidx,
                                   const double *__restrict__ a, const double *__restrict__ p, double *q, int rows)
{
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / LANES;
    const int lane = threadIdx.x % LANES;
    double sum = 0.0;
    if (row < rows) {
        const int end = rowstr[row + 1];
#pragma unroll 4
        for (int k = rowstr[row] + lane; k < end; k += LANES)
            sum += a[k] * p[colidx[k]];
    }
    for (int step = LANES / 2; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, step, LANES);
    if (lane == 0 && row < rows)
        q[row] = sum;
}

// The sum over one block of 256 threads, by way of shared memory; true of the thread that has it.
static __device__ bool block_sum(double &sum, double *shared)
{
    shared[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    sum = shared[0];
    return threadIdx.x == 0;
}

extern "C" __global__ void cg_dot(const double *__restrict__ x, const double *__restrict__ y, double *partial, int n)
{
    __shared__ double shared[256];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i] * y[i];
    if (block_sum(sum, shared))
        partial[blockIdx.x] = sum;
}

// The squared distance of two vectors.
extern "C" __global__ void cg_distance(const double *__restrict__ x, const double *__restrict__ y, double *partial, int n)
{
    __shared__ double shared[256];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    if (block_sum(sum, shared))
        partial[blockIdx.x] = sum;
}

// The start of a solution of A z = x from z = 0.
extern "C" __global__ void cg_start(const double *__restrict__ x, double *q, double *z, double *r, double *p, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    q[i] = 0.0;
    z[i] = 0.0;
    r[i] = x[i];
    p[i] = x[i];
}

extern "C" __global__ void cg_advance(double *z, double *r, const double *__restrict__ p, const double *__restrict__ q,
                                      double alpha, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    z[i] += alpha * p[i];
    r[i] -= alpha * q[i];
}

extern "C" __global__ void cg_direction(double *p, const double *__restrict__ r, double beta, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = r[i] + beta * p[i];
}

extern "C" __global__ void cg_scale(double *x, const double *__restrict__ z, double factor, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = factor * z[i];
}
