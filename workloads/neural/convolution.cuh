// Convolutions as products of matrices: the patch under each place of the kernel becomes a column.

// Column (image, row, column of the result), row (channel, row, column of the kernel). One thread per channel and column.
extern "C" __global__ void im2col(
    const float *images, float *columns, int count, int channels, int height, int width, int kernel, int stride, int pad,
    int out_height, int out_width) {
    const int pixels = out_height * out_width, total = count * pixels;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= channels * total) return;
    const int channel = i / total, column = i % total;
    const int image = column / pixels, pixel = column % pixels;
    const int top = pixel / out_width * stride - pad, left = pixel % out_width * stride - pad;
    const float *plane = images + (image * channels + channel) * height * width;
    float *place = columns + channel * kernel * kernel * total + column;
    for (int y = top; y < top + kernel; y++) {
        const bool inside = (unsigned)y < (unsigned)height;
        for (int x = left; x < left + kernel; x++) {
            *place = inside && (unsigned)x < (unsigned)width ? plane[y * width + x] : 0.0f;
            place += total;
        }
    }
}

// The other way round: each pixel of an image receives the sum of all places that it was copied to.
extern "C" __global__ void col2im(
    const float *columns, float *images, int count, int channels, int height, int width, int kernel, int stride, int pad,
    int out_height, int out_width, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * channels * height * width) return;
    const int x = i % width + pad, y = i / width % height + pad;
    const int channel = i / (width * height) % channels, image = i / (width * height * channels);
    const int pixels = out_height * out_width, total = count * pixels;
    const int first_y = y < kernel ? 0 : (y - kernel) / stride + 1, last_y = min(y / stride, out_height - 1);
    const int first_x = x < kernel ? 0 : (x - kernel) / stride + 1, last_x = min(x / stride, out_width - 1);
    const float *source = columns + channel * kernel * kernel * total + image * pixels;
    float sum = 0.0f;
    for (int oy = first_y; oy <= last_y; oy++)
        for (int ox = first_x; ox <= last_x; ox++)
            sum += source[((y - oy * stride) * kernel + x - ox * stride) * total + oy * out_width + ox];
    images[i] = add ? images[i] + sum : sum;
}
