// Threads that wait for other threads: of their warp, of their block, of their grid.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void lock_then_branch(int *lock, int *count) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *(volatile int *)count += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

extern "C" __global__ void spin_then_work(int *lock, int *count) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *(volatile int *)count += 1;
    __threadfence();
    atomicExch(lock, 0);
}

__device__ __noinline__ void take(int *lock) {
    while (atomicExch(lock, 1) != 0) {
    }
}

extern "C" __global__ void lock_in_a_function(int *lock, int *count) {
    take(lock);
    *(volatile int *)count += 1;
    __threadfence();
    atomicExch(lock, 0);
}

extern "C" __global__ void lanes_in_turn(int *out) {
    __shared__ volatile int turn;
    if (threadIdx.x == 0) turn = blockDim.x - 1;
    __syncthreads();
    // Each thread waits for the one above it.
    while (turn != threadIdx.x) {
    }
    out[threadIdx.x] = turn * 10;
    turn = threadIdx.x - 1;
}

// Blocks wait for the block behind them: all must be resident.
extern "C" __global__ void blocks_in_turn(volatile int *turn, int *out) {
    if (threadIdx.x == 0) {
        while (*turn != (int)(gridDim.x - 1 - blockIdx.x)) {
        }
        out[blockIdx.x] = *turn + 100;
        __threadfence();
        *turn = *turn + 1;
    }
    __syncthreads();
}

extern "C" __global__ void grid_barrier(int *a, int *b, int rounds) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    for (int r = 0; r < rounds; r++) {
        b[i] = a[(i + 1) % n] + 1;
        grid.sync();
        a[i] = b[(i + n - 3) % n] * 2;
        grid.sync();
    }
}

extern "C" __global__ void last_block_sums(const int *in, int *partial, unsigned *done, int *total) {
    __shared__ int sum;
    __shared__ bool last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(done, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int s = 0;
        for (int k = 0; k < gridDim.x; k++) s += ((volatile int *)partial)[k];
        *total = s;
    }
}
