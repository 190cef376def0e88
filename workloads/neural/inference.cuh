// What inference has and training does not: layers of detection networks, and each step of a layer a pass of its own, as
// in Darknet. All but the last four kernels work in place.

extern "C" __global__ void fill(float *data, int total, float value) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) data[i] = value;
}

// With the statistics that training has left; 1e-5 is added to a variance before it divides.
extern "C" __global__ void normalise(
    float *data, const float *mean, const float *variance, int total, int channels, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int channel = i / pixels % channels;
    data[i] = (data[i] - mean[channel]) / sqrtf(variance[channel] + 1e-5f);
}

extern "C" __global__ void scale_channels(float *data, const float *scales, int total, int channels, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) data[i] *= scales[i / pixels % channels];
}

// Leaky ReLU; with a slope of 1 the linear activation, which is a pass of its own too.
extern "C" __global__ void activate(float *data, int total, float slope) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) data[i] = data[i] > 0.0f ? data[i] : slope * data[i];
}

extern "C" __global__ void logistic(float *data, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) data[i] = 1.0f / (1.0f + expf(-data[i]));
}

// Adds each pixel to the four it becomes; the output was cleared before.
extern "C" __global__ void upsample(const float *input, float *output, int total, int out_height, int out_width) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int x = i % out_width, y = i / out_width % out_height, plane = i / (out_width * out_height);
    output[i] += input[(plane * (out_height / 2) + y / 2) * (out_width / 2) + x / 2];
}

// Darknet's reorganisation into four times the channels and half the sides: place i of the output, taken as if it had the
// input's shape, comes from the input taken as if it had a quarter of the channels and twice the sides.
extern "C" __global__ void reorganise(
    const float *input, float *output, int total, int channels, int height, int width) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int x = i % width, y = i / width % height;
    const int channel = i / (width * height) % channels, image = i / (width * height * channels);
    const int wide = channels / 4, part = channel / wide;
    const int from_x = x * 2 + part % 2, from_y = y * 2 + part / 2;
    output[i] = input[((image * wide + channel % wide) * height * 2 + from_y) * width * 2 + from_x];
}

// Softmax over `classes` values that stand `pixels` apart, for each pixel of each group; one thread each.
extern "C" __global__ void softmax(
    const float *input, float *output, int total, int classes, int group_stride, int pixels) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int first = i / pixels * group_stride + i % pixels;
    float largest = input[first];
    for (int c = 1; c < classes; c++) largest = fmaxf(largest, input[first + c * pixels]);
    float sum = 0.0f;
    for (int c = 0; c < classes; c++) {
        const float value = expf(input[first + c * pixels] - largest);
        sum += value;
        output[first + c * pixels] = value;
    }
    for (int c = 0; c < classes; c++) output[first + c * pixels] /= sum;
}
