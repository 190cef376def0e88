// Pooling: windows may reach over the border; the part outside does not count for a maximum, and counts as zeros for a
// mean as far as the padding goes.

extern "C" __global__ void max_pool_forward(
    const float *input, float *output, int *where, int planes, int height, int width, int kernel, int stride, int pad,
    int out_height, int out_width) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * out_height * out_width) return;
    const int top = i / out_width % out_height * stride - pad, left = i % out_width * stride - pad;
    const float *plane = input + i / (out_width * out_height) * height * width;
    float largest = -3.402823466e38f;
    int found = 0;
    for (int y = max(top, 0); y < min(top + kernel, height); y++)
        for (int x = max(left, 0); x < min(left + kernel, width); x++) {
            const float value = plane[y * width + x];
            if (value > largest) {
                largest = value;
                found = y * width + x;
            }
        }
    output[i] = largest;
    where[i] = found;
}

extern "C" __global__ void max_pool_backward(
    const float *output_diff, const int *where, float *input_diff, int planes, int height, int width, int kernel,
    int stride, int pad, int out_height, int out_width, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * height * width) return;
    const int x = i % width + pad, y = i / width % height + pad, plane = i / (width * height);
    const int here = i % (width * height);
    const int first_y = y < kernel ? 0 : (y - kernel) / stride + 1, last_y = min(y / stride, out_height - 1);
    const int first_x = x < kernel ? 0 : (x - kernel) / stride + 1, last_x = min(x / stride, out_width - 1);
    float sum = 0.0f;
    for (int oy = first_y; oy <= last_y; oy++)
        for (int ox = first_x; ox <= last_x; ox++) {
            const int window = (plane * out_height + oy) * out_width + ox;
            if (where[window] == here) sum += output_diff[window];
        }
    input_diff[i] = add ? input_diff[i] + sum : sum;
}

__device__ __forceinline__ float window_size(int oy, int ox, int height, int width, int kernel, int stride, int pad) {
    const int top = oy * stride - pad, left = ox * stride - pad;
    return (float)((min(top + kernel, height + pad) - top) * (min(left + kernel, width + pad) - left));
}

extern "C" __global__ void mean_pool_forward(
    const float *input, float *output, int planes, int height, int width, int kernel, int stride, int pad,
    int out_height, int out_width) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * out_height * out_width) return;
    const int oy = i / out_width % out_height, ox = i % out_width;
    const int top = oy * stride - pad, left = ox * stride - pad;
    const float *plane = input + i / (out_width * out_height) * height * width;
    float sum = 0.0f;
    for (int y = max(top, 0); y < min(top + kernel, height); y++)
        for (int x = max(left, 0); x < min(left + kernel, width); x++) sum += plane[y * width + x];
    output[i] = sum / window_size(oy, ox, height, width, kernel, stride, pad);
}

extern "C" __global__ void mean_pool_backward(
    const float *output_diff, float *input_diff, int planes, int height, int width, int kernel, int stride, int pad,
    int out_height, int out_width, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= planes * height * width) return;
    const int x = i % width + pad, y = i / width % height + pad, plane = i / (width * height);
    const int first_y = y < kernel ? 0 : (y - kernel) / stride + 1, last_y = min(y / stride, out_height - 1);
    const int first_x = x < kernel ? 0 : (x - kernel) / stride + 1, last_x = min(x / stride, out_width - 1);
    float sum = 0.0f;
    for (int oy = first_y; oy <= last_y; oy++)
        for (int ox = first_x; ox <= last_x; ox++)
            sum += output_diff[(plane * out_height + oy) * out_width + ox] /
                   window_size(oy, ox, height, width, kernel, stride, pad);
    input_diff[i] = add ? input_diff[i] + sum : sum;
}
