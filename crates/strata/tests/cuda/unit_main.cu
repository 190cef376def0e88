// Two translation units, linked on the device's side, too (`-rdc=true`).
#include "check.h"

extern __device__ int weights[4];
__device__ int weigh(int i, int value);
void launch_in_other_unit(int *data, int n);

__global__ void here(int *data) {
    data[threadIdx.x] = weigh(threadIdx.x, 10);
    if (threadIdx.x == 0) printf("here\n");
}

int main() {
    int host[4], *data;
    CUDA(cudaMalloc(&data, sizeof host));
    here<<<1, 4>>>(data);
    launch_in_other_unit(data, 4);
    CUDA(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; ++i) EXPECT(host[i] == 10 * (i + 2) + 1);
    int other[4];
    CUDA(cudaMemcpyFromSymbol(other, weights, sizeof other));
    EXPECT(other[0] == 2 && other[3] == 5);
    std::printf("units: all is right\n");
    return 0;
}
