// Convolutions as products of matrices: the patch under each place of the kernel becomes a column.

// Column (image, row, column of the result), row (channel, row, column of the kernel). One thread per channel and column.
template <int KERNEL>
__device__ __forceinline__ void unfold(
    const float *images, float *columns, int count, int channels, int height, int width, int stride, int pad,
    int out_height, int out_width) {
    const int pixels = out_height * out_width, total = count * pixels;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= channels * total) return;
    const int channel = i / total, column = i % total;
    const int image = column / pixels, pixel = column % pixels;
    const int top = pixel / out_width * stride - pad, left = pixel % out_width * stride - pad;
    const float *source = images + ((image * channels + channel) * height + top) * width + left;
    float *place = columns + channel * KERNEL * KERNEL * total + column;
#pragma unroll
    for (int y = 0; y < KERNEL; y++) {
        const bool inside = (unsigned)(top + y) < (unsigned)height;
#pragma unroll
        for (int x = 0; x < KERNEL; x++) {
            float value = 0.0f;
            if (inside && (unsigned)(left + x) < (unsigned)width) value = source[x];
            *place = value;
            place += total;
        }
        source += width;
    }
}

#define IM2COL(KERNEL)                                                                                                 \
    extern "C" __global__ void im2col_##KERNEL(                                                                        \
        const float *images, float *columns, int count, int channels, int height, int width, int stride, int pad,      \
        int out_height, int out_width) {                                                                               \
        unfold<KERNEL>(images, columns, count, channels, height, width, stride, pad, out_height, out_width);           \
    }

IM2COL(1)
IM2COL(3)
IM2COL(5)

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
