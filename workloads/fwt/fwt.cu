// Fast Walsh-Hadamard transform in natural order, and what it is for: convolution over exclusive-or of indices.

#define LARGEST 2048

// The last steps of the transform, whole pieces of 2^steps numbers in shared memory: a block per piece, a thread per four
// numbers.
extern "C" __global__ void walsh_pieces(float *data, int steps)
{
    __shared__ float piece[LARGEST];
    const int size = 1 << steps;
    float *from = data + (size_t)blockIdx.x * size;
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        piece[i] = from[i];
    for (int distance = size / 2; distance > 0; distance /= 2) {
        __syncthreads();
        for (int pair = threadIdx.x; pair < size / 2; pair += blockDim.x) {
            const int low = pair & (distance - 1);
            const int at = ((pair - low) << 1) + low;
            const float x = piece[at], y = piece[at + distance];
            piece[at] = x + y;
            piece[at + distance] = x - y;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        from[i] = piece[i];
}

// Two steps at once in global memory, for pieces of four times `distance` numbers.
extern "C" __global__ void walsh_two_steps(float *data, int distance)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int low = thread & (distance - 1);
    float *at = data + ((size_t)(thread - low) << 2) + low;
    const float a = at[0], b = at[distance], c = at[2 * distance], d = at[3 * distance];
    const float sum = a + c, sum_odd = b + d, difference = a - c, difference_odd = b - d;
    at[0] = sum + sum_odd;
    at[distance] = sum - sum_odd;
    at[2 * distance] = difference + difference_odd;
    at[3 * distance] = difference - difference_odd;
}

// Products of two transforms, scaled so that a further transform is the inverse.
extern "C" __global__ void multiply(float *a, const float *b, int n, float scale)
{
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        a[i] *= b[i] * scale;
}
