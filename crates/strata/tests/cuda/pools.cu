// Memory in the order of streams, memory that kernels allocate, and what cannot be had.
#include "check.h"

struct Node {
    int value;
    Node *next;
};

__global__ void build(Node **heads, int length) {
    Node *head = nullptr;
    for (int i = 0; i < length; ++i) {
        Node *node = (Node *)malloc(sizeof(Node));
        node->value = i * threadIdx.x;
        node->next = head;
        head = node;
    }
    heads[threadIdx.x] = head;
}

__global__ void sum(Node **heads, int *sums) {
    int total = 0;
    for (Node *node = heads[threadIdx.x]; node;) {
        Node *next = node->next;
        total += node->value;
        free(node);
        node = next;
    }
    sums[threadIdx.x] = total;
}

__global__ void fill(int *data, int value) { data[threadIdx.x] = value; }

int main() {
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    Node **heads;
    int *sums, host[64];
    CUDA(cudaMallocAsync((void **)&heads, 64 * sizeof *heads, stream));
    CUDA(cudaMallocAsync((void **)&sums, sizeof host, stream));
    CUDA(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
    build<<<1, 64, 0, stream>>>(heads, 10);
    sum<<<1, 64, 0, stream>>>(heads, sums);
    CUDA(cudaMemcpyAsync(host, sums, sizeof host, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaFreeAsync(heads, stream));
    CUDA(cudaFreeAsync(sums, stream));
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < 64; ++i) EXPECT(host[i] == 45 * i);

    cudaMemPool_t pool;
    CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
    unsigned long long keep = ~0ull;
    CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    int *data;
    CUDA(cudaMallocFromPoolAsync((void **)&data, sizeof host, pool, stream));
    fill<<<1, 64, 0, stream>>>(data, 5);
    CUDA(cudaMemcpyAsync(host, data, sizeof host, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 5 && host[63] == 5);

    size_t available, total;
    CUDA(cudaMemGetInfo(&available, &total));
    EXPECT(available < total);
    void *large = nullptr;
    EXPECT(cudaMalloc(&large, total + 1) == cudaErrorMemoryAllocation);
    EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    CUDA(cudaMalloc(&large, available));
    CUDA(cudaFree(large));
    std::puts("pools: all is right");
    return 0;
}
