// The sum of an array: every thread adds its share in a grid-stride loop, every block its threads' sums in a tree. Run
// once on the array and once, with one block, on the blocks' sums.

#define BLOCK 256

extern "C" __global__ void reduce_sum(const int *values, int *sums, int n)
{
    __shared__ int block_sums[BLOCK];
    const int local = threadIdx.x;
    int sum = 0;
    for (int i = blockIdx.x * BLOCK + local; i < n; i += BLOCK * gridDim.x)
        sum += values[i];
    block_sums[local] = sum;
    __syncthreads();
    for (int offset = BLOCK / 2; offset > 0; offset /= 2) {
        if (local < offset)
            block_sums[local] += block_sums[local + offset];
        __syncthreads();
    }
    if (local == 0)
        sums[blockIdx.x] = block_sums[0];
}
