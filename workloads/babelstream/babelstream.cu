// The six kernels of the STREAM family in double precision, one element per thread: the arrays are a multiple of the block.

#define BLOCK 1024

static __device__ int element()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

extern "C" __global__ void stream_init(double *a, double *b, double *c, double first_a, double first_b, double first_c)
{
    const int i = element();
    a[i] = first_a;
    b[i] = first_b;
    c[i] = first_c;
}

extern "C" __global__ void stream_copy(const double *a, double *c)
{
    const int i = element();
    c[i] = a[i];
}

extern "C" __global__ void stream_mul(double *b, const double *c, double scalar)
{
    const int i = element();
    b[i] = scalar * c[i];
}

extern "C" __global__ void stream_add(const double *a, const double *b, double *c)
{
    const int i = element();
    c[i] = a[i] + b[i];
}

extern "C" __global__ void stream_triad(double *a, const double *b, const double *c, double scalar)
{
    const int i = element();
    a[i] = b[i] + scalar * c[i];
}

// Every thread adds its products in a grid-stride loop, every block its threads' sums in a tree; the host adds the rest.
extern "C" __global__ void stream_dot(const double *a, const double *b, double *sums, int n)
{
    __shared__ double block_sums[BLOCK];
    const int local = threadIdx.x;
    double sum = 0.0;
    for (int i = element(); i < n; i += blockDim.x * gridDim.x)
        sum += a[i] * b[i];
    block_sums[local] = sum;
    for (int offset = blockDim.x / 2; offset > 0; offset /= 2) {
        __syncthreads();
        if (local < offset)
            block_sums[local] += block_sums[local + offset];
    }
    if (local == 0)
        sums[blockIdx.x] = block_sums[0];
}
