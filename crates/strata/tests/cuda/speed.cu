// A kernel that takes a while, to be compared with the same kernel from a launch file.
#include "check.h"

extern "C" __global__ void mix(int *data, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = data[i];
    for (int k = 0; k < rounds; ++k) {
        x = x * 1664525 + 1013904223;
        x ^= x >> 7;
        if (k % 16 == 0) data[i] = x;
    }
    data[i] = x;
}

int main() {
    int *data;
    CUDA(cudaMalloc(&data, 65536 * sizeof(int)));
    CUDA(cudaMemset(data, 0, 65536 * sizeof(int)));
    for (int round = 0; round < 4; ++round) mix<<<256, 256>>>(data, 1000);
    CUDA(cudaDeviceSynchronize());
    return 0;
}
