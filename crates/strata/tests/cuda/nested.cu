// Dynamic parallelism, which there is not: the launch fails, and so does everything after it.
#include "check.h"

__global__ void child(int *data) { *data = 1; }
__global__ void parent(int *data) { child<<<1, 1>>>(data); }

int main() {
    int *data;
    CUDA(cudaMalloc(&data, sizeof *data));
    parent<<<1, 1>>>(data);
    EXPECT(cudaDeviceSynchronize() == cudaErrorNotSupported);
    return 5;
}
