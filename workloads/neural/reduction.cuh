// One value from all threads of a block, which are up to 8 whole warps.

struct Sum {
    __device__ static float join(float a, float b) { return a + b; }
};
struct Largest {
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
};

// All threads get the result.
template <class Join>
__device__ __forceinline__ float reduce(float value) {
    __shared__ float of_warp[8];
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, apart));
    const int warps = blockDim.x / 32;
    if (warps == 1) return value;
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
    __syncthreads();
    value = of_warp[0];
    for (int warp = 1; warp < warps; warp++) value = Join::join(value, of_warp[warp]);
    __syncthreads();
    return value;
}

__device__ __forceinline__ float block_sum(float value) { return reduce<Sum>(value); }
__device__ __forceinline__ float block_max(float value) { return reduce<Largest>(value); }
