// Cooperative groups: tiles, coalesced threads, and a grid that waits for itself.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <vector>

namespace cg = cooperative_groups;

__global__ void tiles(int *sums, int *odd) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    int value = block.thread_rank();
    int total = cg::reduce(tile, value, cg::plus<int>());
    for (int offset = 8; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
    if (tile.thread_rank() == 0) sums[blockIdx.x * (blockDim.x / 16) + tile.meta_group_rank()] = value == total ? total : -1;
    if (threadIdx.x % 2) {
        cg::coalesced_group active = cg::coalesced_threads();
        if (active.thread_rank() == 0) atomicAdd(odd, active.size());
    }
    block.sync();
}

// Every block adds its share, then reads what the others wrote, again and again.
__global__ void waves(unsigned *data, unsigned *total, int rounds) {
    cg::grid_group grid = cg::this_grid();
    unsigned me = grid.thread_rank(), n = grid.size();
    for (int round = 0; round < rounds; ++round) {
        unsigned left = data[(me + n - 1) % n];
        grid.sync();
        data[me] += left;
        grid.sync();
    }
    atomicAdd(total, data[me]);
}

int main() {
    int *sums, *odd;
    CUDA(cudaMallocManaged(&sums, 16 * sizeof(int)));
    CUDA(cudaMallocManaged(&odd, sizeof(int)));
    tiles<<<2, 128>>>(sums, odd);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 16; ++i) EXPECT(sums[i] == 16 * 16 * (i % 8) + 120);
    EXPECT(*odd == 128);

    int blocks, supported, sms;
    CUDA(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, waves, 64, 0));
    EXPECT(supported && blocks > 0 && sms > 0);
    const unsigned threads = 4 * 64;
    int rounds = 5;
    unsigned *data, *total;
    CUDA(cudaMallocManaged(&data, threads * sizeof(unsigned)));
    CUDA(cudaMallocManaged(&total, sizeof(unsigned)));
    std::vector<unsigned> expected(threads);
    for (unsigned i = 0; i < threads; ++i) data[i] = expected[i] = i;
    void *arguments[] = {&data, &total, &rounds};
    CUDA(cudaLaunchCooperativeKernel((void *)waves, dim3(4), dim3(64), arguments, 0, 0));
    CUDA(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; ++round) {
        std::vector<unsigned> before = expected;
        for (unsigned i = 0; i < threads; ++i) expected[i] += before[(i + threads - 1) % threads];
    }
    unsigned sum = 0;
    for (unsigned i = 0; i < threads; ++i) {
        EXPECT(data[i] == expected[i]);
        sum += expected[i];
    }
    EXPECT(*total == sum);
    std::puts("groups: all is right");
    return 0;
}
