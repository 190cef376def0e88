// z = x + a * y, one element per thread.

extern "C" __global__ void stream_triad(int n, float a, const float *x, const float *y, float *z)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        z[i] = x[i] + a * y[i];
}
