// Normalisation over the batch (one block per channel where sums are formed) and over neighbouring channels.

// Mean of each channel and the inverse of its standard deviation.
extern "C" __global__ void batch_statistics(
    const float *input, float *mean, float *inverse, int count, int channels, int pixels, float epsilon) {
    const int channel = blockIdx.x, total = count * pixels;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < total; i += blockDim.x)
        sum += input[(i / pixels * channels + channel) * pixels + i % pixels];
    const float middle = block_sum(sum) / total;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
        const float apart = input[(i / pixels * channels + channel) * pixels + i % pixels] - middle;
        squares += apart * apart;
    }
    const float variance = block_sum(squares) / total;
    if (threadIdx.x == 0) {
        mean[channel] = middle;
        inverse[channel] = 1.0f / sqrtf(variance + epsilon);
    }
}

extern "C" __global__ void batch_norm_forward(
    const float *input, const float *mean, const float *inverse, const float *gain, const float *shift, float *output,
    int total, int channels, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int channel = i / pixels % channels;
    output[i] = (input[i] - mean[channel]) * inverse[channel] * gain[channel] + shift[channel];
}

// The gradients of gain and shift.
extern "C" __global__ void batch_norm_sums(
    const float *input, const float *mean, const float *inverse, const float *output_diff, float *gain_diff,
    float *shift_diff, int count, int channels, int pixels) {
    const int channel = blockIdx.x, total = count * pixels;
    float with_value = 0.0f, alone = 0.0f;
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
        const int place = (i / pixels * channels + channel) * pixels + i % pixels;
        with_value += output_diff[place] * (input[place] - mean[channel]);
        alone += output_diff[place];
    }
    const float gain = block_sum(with_value) * inverse[channel], shift = block_sum(alone);
    if (threadIdx.x == 0) {
        gain_diff[channel] = gain;
        shift_diff[channel] = shift;
    }
}

extern "C" __global__ void batch_norm_backward(
    const float *input, const float *mean, const float *inverse, const float *gain, const float *gain_diff,
    const float *shift_diff, const float *output_diff, float *input_diff, int count, int channels, int pixels, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * channels * pixels) return;
    const int channel = i / pixels % channels;
    const float value = (input[i] - mean[channel]) * inverse[channel];
    const float common = (shift_diff[channel] + value * gain_diff[channel]) / (float)(count * pixels);
    const float diff = gain[channel] * inverse[channel] * (output_diff[i] - common);
    input_diff[i] = add ? input_diff[i] + diff : diff;
}

// x to the power -3/4.
__device__ __forceinline__ float power(float x) {
    const float root = sqrtf(x);
    return 1.0f / (root * sqrtf(root));
}

// Local response normalisation: each value divided by scale^(3/4), where scale = 1 + alpha/size * the sum of squares of
// `size` neighbouring channels. The scales are kept for the way back.
extern "C" __global__ void lrn_forward(
    const float *input, float *output, float *scales, int total, int channels, int pixels, int size, float alpha) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int channel = i / pixels % channels, reach = size / 2;
    float squares = 0.0f;
    for (int c = max(channel - reach, 0); c <= min(channel + reach, channels - 1); c++) {
        const float value = input[i + (c - channel) * pixels];
        squares += value * value;
    }
    const float scale = 1.0f + alpha / size * squares;
    scales[i] = scale;
    output[i] = input[i] * power(scale);
}

extern "C" __global__ void lrn_backward(
    const float *input, const float *output, const float *scales, const float *output_diff, float *input_diff, int total,
    int channels, int pixels, int size, float alpha, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int channel = i / pixels % channels, reach = size / 2;
    float sum = 0.0f;
    for (int c = max(channel - reach, 0); c <= min(channel + reach, channels - 1); c++) {
        const int place = i + (c - channel) * pixels;
        sum += output_diff[place] * output[place] / scales[place];
    }
    const float diff = output_diff[i] * power(scales[i]) - 1.5f * alpha / size * input[i] * sum;
    input_diff[i] = add ? input_diff[i] + diff : diff;
}
