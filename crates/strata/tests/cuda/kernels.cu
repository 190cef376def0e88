// What kernels are made of: symbols, structures by value, templates, shared memory, atomics, printf.
#include "check.h"

struct Shape {
    char kind;
    double scale;
    int bias[3];
};

__constant__ float coefficients[4];
__device__ int total = 3;
__device__ const int table[3] = {10, 20, 30};

template <typename T, int N> __global__ void scale(T *data, Shape shape, char tail) {
    data[threadIdx.x] = (T)(data[threadIdx.x] * shape.scale + shape.bias[N] + tail) + (T)coefficients[threadIdx.x % 4];
}

__global__ void reverse(int *data) {
    extern __shared__ int staged[];
    int n = blockDim.x, i = threadIdx.x;
    staged[i] = data[i];
    __syncthreads();
    data[i] = staged[n - 1 - i] + table[i % 3];
}

__global__ void count(unsigned *histogram, int *largest) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&histogram[i % 7], 1u);
    atomicMax(largest, (int)i);
    atomicAdd(&total, 1);
}

__global__ void speak(int n) {
    if (threadIdx.x == 0) printf("block %d of %d says %s %.2f\n", blockIdx.x, n, "hello", 1.5);
}

int main() {
    float values[4] = {1, 2, 3, 4};
    CUDA(cudaMemcpyToSymbol(coefficients, values, sizeof values));
    float back[2];
    CUDA(cudaMemcpyFromSymbol(back, coefficients, sizeof back, 2 * sizeof(float)));
    EXPECT(back[0] == 3 && back[1] == 4);
    size_t size;
    CUDA(cudaGetSymbolSize(&size, table));
    EXPECT(size == 12);

    double host[8] = {0, 1, 2, 3, 4, 5, 6, 7}, *data;
    CUDA(cudaMalloc(&data, sizeof host));
    CUDA(cudaMemcpy(data, host, sizeof host, cudaMemcpyDefault));
    Shape shape = {'s', 2.0, {100, 200, 300}};
    scale<double, 1><<<1, 8>>>(data, shape, 7);
    CUDA(cudaMemcpy(host, data, sizeof host, cudaMemcpyDefault));
    for (int i = 0; i < 8; ++i) EXPECT(host[i] == 2.0 * i + 200 + 7 + values[i % 4]);

    int numbers[64], *many;
    for (int i = 0; i < 64; ++i) numbers[i] = i;
    CUDA(cudaMalloc(&many, sizeof numbers));
    CUDA(cudaMemcpy(many, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    reverse<<<1, 64, sizeof numbers>>>(many);
    CUDA(cudaMemcpy(numbers, many, sizeof numbers, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i) EXPECT(numbers[i] == 63 - i + 10 * (i % 3 + 1));

    unsigned histogram[7], *bins;
    int largest, *most;
    CUDA(cudaMalloc(&bins, sizeof histogram));
    CUDA(cudaMalloc(&most, sizeof largest));
    CUDA(cudaMemset(bins, 0, sizeof histogram));
    CUDA(cudaMemset(most, 0, sizeof largest));
    count<<<10, 100>>>(bins, most);
    CUDA(cudaMemcpy(histogram, bins, sizeof histogram, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(&largest, most, sizeof largest, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < 7; ++i) EXPECT(histogram[i] == (i < 6 ? 143 : 142));
    int sum;
    CUDA(cudaMemcpyFromSymbol(&sum, total, sizeof sum));
    EXPECT(largest == 999 && sum == 1003);

    cudaFuncAttributes attributes;
    CUDA(cudaFuncGetAttributes(&attributes, reverse));
    EXPECT(attributes.maxThreadsPerBlock == 1024 && attributes.numRegs > 0 && attributes.sharedSizeBytes == 0);
    int blocks, least, best;
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 48 << 10));
    EXPECT(blocks >= 1 && blocks <= 2);
    CUDA(cudaOccupancyMaxPotentialBlockSize(&least, &best, reverse, 0, 0));
    EXPECT(best >= 32 && least >= 1);

    std::printf("before\n");
    speak<<<2, 32>>>(2);
    CUDA(cudaDeviceSynchronize());
    std::printf("after\n");
    return 0;
}
