// Programs with errors that the emulator must find; compiled with -lineinfo, so that it can name these lines.
#include <cassert>

extern "C" __global__ void past_the_end(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = n;
}

extern "C" __global__ void asserts(const int *in, int *out) {
    int i = threadIdx.x;
    assert(in[i] != 7);
    out[i] = in[i];
}

__device__ __noinline__ int write_at(int *p, int i) {
    p[i] = i;
    return p[i / 2];
}

extern "C" __global__ void in_a_function(int *out, int stride) {
    out[0] = write_at(out, threadIdx.x * stride);
}

__device__ __noinline__ int endless(int n) {
    volatile int frame[64];
    frame[n % 64] = n;
    return n + endless(n + 1) + frame[(n + 1) % 64];
}

extern "C" __global__ void recurses(int *out) { out[0] = endless(out[0]); }

extern "C" __global__ void uses_freed_memory(int *out) {
    int *p = static_cast<int *>(malloc(64));
    p[threadIdx.x] = 1;
    free(p);
    out[0] = p[threadIdx.x];
}

extern "C" __global__ void overruns_shared(int *out, int n) {
    __shared__ int tile[32];
    tile[(int)threadIdx.x * n] = out[0];
    __syncthreads();
    out[0] = tile[0];
}
