// What happens to each element by itself, and copies between tensors.

extern "C" __global__ void bias_forward(float *output, const float *bias, int total, int channels, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) output[i] += bias[i / pixels % channels];
}

// The gradient of a bias: the sum over all images and pixels of its channel. One block per channel.
extern "C" __global__ void bias_backward(
    const float *output_diff, float *bias_diff, int count, int channels, int pixels) {
    const int channel = blockIdx.x, total = count * pixels;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < total; i += blockDim.x)
        sum += output_diff[(i / pixels * channels + channel) * pixels + i % pixels];
    sum = block_sum(sum);
    if (threadIdx.x == 0) bias_diff[channel] = sum;
}

// In place, as is the way back: where the result is not positive the gradient ends.
extern "C" __global__ void relu_forward(float *data, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) data[i] = fmaxf(data[i], 0.0f);
}

extern "C" __global__ void relu_backward(const float *data, float *diff, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total && data[i] <= 0.0f) diff[i] = 0.0f;
}

// 32 random bits that depend on their place, the step of the training and the layer alone.
__device__ __forceinline__ unsigned random_bits(unsigned place, unsigned step, unsigned layer) {
    unsigned x = place * 0x9e3779b9u + step * 0x85ebca6bu + layer * 0xc2b2ae35u;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// Half of the values become 0, the others twice as large. The random numbers are kept: they say which.
extern "C" __global__ void dropout_forward(
    float *data, unsigned *mask, const unsigned *step, unsigned layer, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const unsigned bits = random_bits(i, *step, layer);
    mask[i] = bits;
    data[i] = bits >> 31 ? 2.0f * data[i] : 0.0f;
}

extern "C" __global__ void dropout_backward(const unsigned *mask, float *diff, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) diff[i] = mask[i] >> 31 ? 2.0f * diff[i] : 0.0f;
}

extern "C" __global__ void add_tensors(const float *a, const float *b, float *sum, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) sum[i] = a[i] + b[i];
}

extern "C" __global__ void copy_tensor(const float *from, float *to, int total, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) to[i] = add ? to[i] + from[i] : from[i];
}

// Copies runs of `length` values: run r begins at r * from_stride and goes to r * to_stride.
extern "C" __global__ void copy_runs(
    const float *from, int from_stride, float *to, int to_stride, int length, int total, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    float *place = to + i / length * to_stride + i % length;
    const float value = from[i / length * from_stride + i % length];
    *place = add ? *place + value : value;
}
