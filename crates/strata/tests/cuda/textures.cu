// Texture objects: arrays of one, two and three dimensions and of layers, pitched and linear memory, filters, address modes.
#include "check.h"
#include <cmath>
#include <cstring>
#include <vector>

const int W = 20, H = 12, D = 4;

__global__ void fetch(cudaTextureObject_t texture, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int>(texture, i);
}

__global__ void sample(cudaTextureObject_t texture, float *out, float dx, float dy, float scale_x, float scale_y) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) out[y * W + x] = tex2D<float>(texture, (x + dx) * scale_x, (y + dy) * scale_y);
}

__global__ void volume(cudaTextureObject_t solid, cudaTextureObject_t layered, float *out, float *layers) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    out[(z * H + y) * W + x] = tex3D<float>(solid, x + 0.5f, y + 0.5f, z + 0.5f);
    layers[(z * H + y) * W + x] = tex2DLayered<float>(layered, x + 0.5f, y + 0.5f, z);
}

__global__ void colours(cudaTextureObject_t texture, float4 *out) {
    out[threadIdx.x] = tex1D<float4>(texture, threadIdx.x + 0.5f);
}

static cudaTextureObject_t make(const cudaResourceDesc &resource, cudaTextureFilterMode filter, cudaTextureAddressMode mode,
                                bool normalized, cudaTextureReadMode read) {
    cudaTextureDesc how;
    std::memset(&how, 0, sizeof how);
    how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = mode;
    how.filterMode = filter;
    how.readMode = read;
    how.normalizedCoords = normalized;
    cudaTextureObject_t texture = 0;
    CUDA(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

static cudaResourceDesc of_array(cudaArray_t array) {
    cudaResourceDesc resource;
    std::memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaArray_t solid_array(const std::vector<float> &data, unsigned flags) {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CUDA(cudaMalloc3DArray(&array, &format, make_cudaExtent(W, H, D), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)data.data(), W * sizeof(float), W, H);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(W, H, D);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
    return array;
}

__global__ void faces(cudaTextureObject_t cube, float *out) {
    int face = threadIdx.x, sign = face % 2 ? -1 : 1;
    out[face] = texCubemap<float>(cube, face / 2 == 0 ? sign : 0.25f, face / 2 == 1 ? sign : 0.25f, face / 2 == 2 ? sign : 0.25f);
}

int main() {
    const dim3 grid((W + 7) / 8, (H + 7) / 8), block(8, 8);
    std::vector<float> image(W * H), found(W * H);
    for (int i = 0; i < W * H; ++i) image[i] = float(i % 37) * 1.5f;
    float *out;
    CUDA(cudaMalloc(&out, W * H * D * sizeof(float)));

    // Linear memory, read as it is.
    std::vector<int> numbers(1000), fetched(1000);
    for (int i = 0; i < 1000; ++i) numbers[i] = 7 * i - 3;
    int *line, *line_out;
    CUDA(cudaMalloc(&line, 4000));
    CUDA(cudaMalloc(&line_out, 4000));
    CUDA(cudaMemcpy(line, numbers.data(), 4000, cudaMemcpyHostToDevice));
    cudaResourceDesc linear;
    std::memset(&linear, 0, sizeof linear);
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = line;
    linear.res.linear.desc = cudaCreateChannelDesc<int>();
    linear.res.linear.sizeInBytes = 4000;
    cudaTextureObject_t texture = make(linear, cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeElementType);
    fetch<<<4, 256>>>(texture, line_out, 1000);
    CUDA(cudaMemcpy(fetched.data(), line_out, 4000, cudaMemcpyDeviceToHost));
    EXPECT(fetched == numbers);
    CUDA(cudaDestroyTextureObject(texture));

    // A two-dimensional array: between texels, and outside.
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CUDA(cudaMallocArray(&array, &format, W, H));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, image.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    texture = make(of_array(array), cudaFilterModeLinear, cudaAddressModeClamp, false, cudaReadModeElementType);
    sample<<<grid, block>>>(texture, out, 1.0f, 0.5f, 1.0f, 1.0f);
    CUDA(cudaMemcpy(found.data(), out, W * H * 4, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) {
            float right = x + 1 < W ? image[y * W + x + 1] : image[y * W + x];
            EXPECT(std::fabs(found[y * W + x] - (image[y * W + x] + right) / 2) < 1e-3f);
        }
    CUDA(cudaDestroyTextureObject(texture));
    texture = make(of_array(array), cudaFilterModePoint, cudaAddressModeWrap, true, cudaReadModeElementType);
    sample<<<grid, block>>>(texture, out, 0.5f + W, 0.5f, 1.0f / W, 1.0f / H);
    CUDA(cudaMemcpy(found.data(), out, W * H * 4, cudaMemcpyDeviceToHost));
    EXPECT(found == image);
    CUDA(cudaDestroyTextureObject(texture));

    // Pitched memory.
    float *pitched;
    size_t pitch;
    CUDA(cudaMallocPitch(&pitched, &pitch, W * 4, H));
    CUDA(cudaMemcpy2D(pitched, pitch, image.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    cudaResourceDesc plane;
    std::memset(&plane, 0, sizeof plane);
    plane.resType = cudaResourceTypePitch2D;
    plane.res.pitch2D.devPtr = pitched;
    plane.res.pitch2D.desc = format;
    plane.res.pitch2D.width = W;
    plane.res.pitch2D.height = H;
    plane.res.pitch2D.pitchInBytes = pitch;
    texture = make(plane, cudaFilterModePoint, cudaAddressModeBorder, false, cudaReadModeElementType);
    sample<<<grid, block>>>(texture, out, 1.5f, 0.5f, 1.0f, 1.0f);
    CUDA(cudaMemcpy(found.data(), out, W * H * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < W * H; ++i) EXPECT(found[i] == (i % W + 1 < W ? image[i + 1] : 0.0f));

    // A volume, and layers.
    std::vector<float> solid(W * H * D), result(W * H * D);
    for (int i = 0; i < W * H * D; ++i) solid[i] = float(i) / 8;
    float *layers;
    CUDA(cudaMalloc(&layers, W * H * D * sizeof(float)));
    auto point = [](cudaArray_t array) {
        return make(of_array(array), cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeElementType);
    };
    volume<<<D, dim3(W, H)>>>(point(solid_array(solid, 0)), point(solid_array(solid, cudaArrayLayered)), out, layers);
    CUDA(cudaMemcpy(result.data(), out, W * H * D * 4, cudaMemcpyDeviceToHost));
    EXPECT(result == solid);
    CUDA(cudaMemcpy(result.data(), layers, W * H * D * 4, cudaMemcpyDeviceToHost));
    EXPECT(result == solid);

    // A cube: each face has its number in all of its texels.
    std::vector<float> six(4 * 4 * 6);
    for (int i = 0; i < 96; ++i) six[i] = float(i / 16);
    cudaArray_t cube;
    CUDA(cudaMalloc3DArray(&cube, &format, make_cudaExtent(4, 4, 6), cudaArrayCubemap));
    EXPECT(cudaMalloc3DArray(&cube, &format, make_cudaExtent(4, 4, 5), cudaArrayCubemap) == cudaErrorInvalidValue);
    cudaMemcpy3DParms whole = {};
    whole.srcPtr = make_cudaPitchedPtr(six.data(), 16, 4, 4);
    whole.dstArray = cube;
    whole.extent = make_cudaExtent(4, 4, 6);
    whole.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&whole));
    texture = make(of_array(cube), cudaFilterModeLinear, cudaAddressModeWrap, true, cudaReadModeElementType);
    faces<<<1, 6>>>(texture, out);
    CUDA(cudaMemcpy(found.data(), out, 6 * 4, cudaMemcpyDeviceToHost));
    for (int face = 0; face < 6; ++face) EXPECT(found[face] == float(face));

    // Bytes as numbers from 0 to 1, four at a time.
    uchar4 pixels[32];
    for (int i = 0; i < 32; ++i) pixels[i] = make_uchar4(i, 2 * i, 255, 0);
    cudaArray_t row;
    cudaChannelFormatDesc four = cudaCreateChannelDesc<uchar4>();
    CUDA(cudaMallocArray(&row, &four, 32));
    CUDA(cudaMemcpy2DToArray(row, 0, 0, pixels, sizeof pixels, sizeof pixels, 1, cudaMemcpyHostToDevice));
    texture = make(of_array(row), cudaFilterModePoint, cudaAddressModeClamp, false, cudaReadModeNormalizedFloat);
    float4 *seen, host[32];
    CUDA(cudaMalloc(&seen, sizeof host));
    colours<<<1, 32>>>(texture, seen);
    CUDA(cudaMemcpy(host, seen, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; ++i) {
        EXPECT(std::fabs(host[i].x - i / 255.0f) < 1e-6f && std::fabs(host[i].y - 2 * i / 255.0f) < 1e-6f);
        EXPECT(host[i].z == 1.0f && host[i].w == 0.0f);
    }

    // What there is not, and what was made.
    cudaExtent extent;
    unsigned flags;
    CUDA(cudaArrayGetInfo(&format, &extent, &flags, array));
    EXPECT(extent.width == W && extent.height == H && format.x == 32 && format.f == cudaChannelFormatKindFloat);
    CUDA(cudaFreeArray(array));
    EXPECT(cudaFreeArray(array) != cudaSuccess);
    std::puts("textures: all is right");
    return 0;
}
