// What goes wrong: `faults store` writes past the end of an allocation, `faults slow` takes for ever, `faults unsupported` calls
// what there is not, `faults crash` reads through a null pointer after its first launch.
#include "check.h"
#include <cstring>
#include <unistd.h>

__global__ void store(int *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) data[i] = i;
}

__global__ void spin(int *data, int rounds) {
    int x = threadIdx.x;
    for (int i = 0; i < rounds; ++i) x = x * 1664525 + 1013904223;
    data[threadIdx.x] = x;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int *data;
    CUDA(cudaMalloc(&data, 256 * sizeof(int)));
    if (!std::strcmp(what, "store")) {
        store<<<3, 128>>>(data, 256);
        cudaError_t status = cudaDeviceSynchronize();
        std::printf("%s, %s\n", cudaGetErrorName(status), cudaGetErrorString(status));
        EXPECT(cudaMalloc(&data, 4) == cudaErrorIllegalAddress);
        return 3;
    }
    if (!std::strcmp(what, "crash")) {
        spin<<<1, 32>>>(data, 10);
        CUDA(cudaDeviceSynchronize());
        return *static_cast<volatile int *>(nullptr);
    }
    if (!std::strcmp(what, "slow")) {
        for (int round = 0; round < 1000000; ++round) {
            spin<<<4, 64>>>(data, 2000);
            CUDA(cudaDeviceSynchronize());
            if (round == 0) std::printf("running %d\n", getpid()), std::fflush(stdout);
        }
    }
    if (!std::strcmp(what, "unsupported")) {
        cudaIpcMemHandle_t handle;
        EXPECT(cudaIpcGetMemHandle(&handle, data) == cudaErrorNotSupported);
        EXPECT(cudaIpcGetMemHandle(&handle, data) == cudaErrorNotSupported);
    }
    return 0;
}
