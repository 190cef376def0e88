// Dot products of many pairs of vectors. A block takes a pair after another; its threads add products into partial sums, of
// which there are more than threads, and the block adds these in a tree.

#define BLOCK 256
#define PARTS 1024

extern "C" __global__ void scalar_product(const float *a, const float *b, float *products, int pairs, int length)
{
    __shared__ float parts[PARTS];
    for (int pair = blockIdx.x; pair < pairs; pair += gridDim.x) {
        const float *x = a + (size_t)pair * length;
        const float *y = b + (size_t)pair * length;
        for (int part = threadIdx.x; part < PARTS; part += BLOCK) {
            float sum = 0.0f;
#pragma unroll 1
            for (int i = part; i < length; i += PARTS)
                sum += x[i] * y[i];
            parts[part] = sum;
        }
        for (int width = PARTS / 2; width > 0; width /= 2) {
            __syncthreads();
            for (int part = threadIdx.x; part < width; part += BLOCK)
                parts[part] += parts[part + width];
        }
        if (threadIdx.x == 0)
            products[pair] = parts[0];
        // Nobody begins the next pair before this one is told.
        __syncthreads();
    }
}
