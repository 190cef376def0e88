// The first program of every tutorial, and what it asks of the device.
#include "check.h"
#include <cstring>

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1000;
    int count = 0, device = -1, warp = 0;
    CUDA(cudaGetDeviceCount(&count));
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
    EXPECT(count == 1 && device == 0 && warp == 32);
    EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
    EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
    cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    EXPECT(std::strncmp(properties.name, "StrataSim", 9) == 0 && properties.warpSize == 32);
    EXPECT(properties.major * 10 + properties.minor == 75 && properties.maxThreadsPerBlock == 1024);

    size_t bytes = n * sizeof(float), free_before, free_after, total;
    float *host = (float *)std::malloc(3 * bytes);
    for (int i = 0; i < n; ++i) host[i] = i, host[n + i] = 0.5f * i;
    CUDA(cudaMemGetInfo(&free_before, &total));
    float *a, *b, *c;
    CUDA(cudaMalloc(&a, bytes));
    CUDA(cudaMalloc(&b, bytes));
    CUDA(cudaMalloc(&c, bytes));
    CUDA(cudaMemGetInfo(&free_after, &total));
    EXPECT(free_before - free_after == 3 * bytes && total == properties.totalGlobalMem);
    CUDA(cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(b, host + n, bytes, cudaMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(a, b, c, n);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(host + 2 * n, c, bytes, cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) EXPECT(host[2 * n + i] == 1.5f * i);

    add<<<1, 2048>>>(a, b, c, n);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    EXPECT(cudaMemcpy(a, host, bytes + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaMalloc(&c, (size_t)1 << 50) == cudaErrorMemoryAllocation);
    EXPECT(cudaFree(a + 1) == cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA(cudaFree(a));
    CUDA(cudaFree(b));
    CUDA(cudaFree(nullptr));
    CUDA(cudaDeviceReset());
    std::printf("vecadd: %d sums are right\n", n);
    return argc > 2 ? std::atoi(argv[2]) : 0;
}
