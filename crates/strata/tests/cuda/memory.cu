// Managed memory, pitched copies in two and three dimensions, copies on the device.
#include "check.h"

__managed__ int counter = 41;
__managed__ float field[256];

__global__ void touch(int *data, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = 2 * data[i] + 1;
    if (i < 256) field[i] += i;
    if (i == 0) ++counter;
}

__global__ void transpose_slice(cudaPitchedPtr volume, int slice, int height) {
    char *row = (char *)volume.ptr + (size_t)(slice * height + threadIdx.y) * volume.pitch;
    ((short *)row)[threadIdx.x] += 1000;
}

static void managed() {
    const int n = 100000;
    int *data;
    CUDA(cudaMallocManaged(&data, n * sizeof(int)));
    for (int i = 0; i < n; ++i) data[i] = i;
    for (int i = 0; i < 256; ++i) field[i] = 0.5f;
#if CUDART_VERSION >= 13000
    cudaMemLocation device = {cudaMemLocationTypeDevice, {0}}, host = {cudaMemLocationTypeHost, {0}};
    CUDA(cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetPreferredLocation, device));
    CUDA(cudaMemPrefetchAsync(data, n * sizeof(int), device, 0));
#else
    int device = 0, host = cudaCpuDeviceId;
    CUDA(cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetPreferredLocation, device));
    CUDA(cudaMemPrefetchAsync(data, n * sizeof(int), device));
#endif
    touch<<<(n + 127) / 128, 128>>>(data, n);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemAdvise(data, n * sizeof(int), cudaMemAdviseSetReadMostly, host));
    for (int i = 0; i < n; ++i) EXPECT(data[i] == 2 * i + 1);
    for (int i = 0; i < 256; ++i) EXPECT(field[i] == i + 0.5f);
    EXPECT(counter == 42);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, data + 5));
    EXPECT(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == data + 5);
    CUDA(cudaFree(data));
}

static void planes() {
    const int width = 37, height = 11;
    char in[height][50], out[height][64], *a, *b;
    size_t pitch, other;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < 50; ++x) in[y][x] = (char)(y * 50 + x), out[y][x] = 0;
    CUDA(cudaMallocPitch(&a, &pitch, width, height));
    CUDA(cudaMallocPitch(&b, &other, 700, height));
    EXPECT(pitch >= width && pitch % 32 == 0 && other > pitch);
    CUDA(cudaMemset2D(b, other, 9, 700, height));
    CUDA(cudaMemcpy2D(a, pitch, in, 50, width, height, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy2D(b, other, a, pitch, width - 1, height, cudaMemcpyDeviceToDevice));
    CUDA(cudaMemcpy2D(out, 64, b, other, width, height, cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < 64; ++x) EXPECT(x >= 50 || out[y][x] == (x < width - 1 ? in[y][x] : x == width - 1 ? 9 : 0));
    EXPECT(cudaMemcpy2D(a, 8, in, 50, width, height, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue);
    cudaGetLastError();
}

static void volumes() {
    const int width = 6, height = 5, depth = 4;
    short in[depth][height][width], out[depth][height][width];
    for (int i = 0; i < depth * height * width; ++i) in[0][0][i] = i, out[0][0][i] = -1;
    cudaExtent extent = make_cudaExtent(width * sizeof(short), height, depth);
    cudaPitchedPtr volume;
    CUDA(cudaMalloc3D(&volume, extent));
    CUDA(cudaMemset3D(volume, 0, extent));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(in, width * sizeof(short), width, height);
    copy.dstPtr = volume;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CUDA(cudaMemcpy3D(&copy));
    transpose_slice<<<1, dim3(width, height)>>>(volume, 2, height);
    // A part: all but the first slice and row.
    copy.srcPtr = volume, copy.dstPtr = make_cudaPitchedPtr(out, width * sizeof(short), width, height);
    copy.srcPos = copy.dstPos = make_cudaPos(0, 1, 1);
    copy.extent = make_cudaExtent(width * sizeof(short), height - 1, depth - 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&copy));
    for (int z = 0; z < depth; ++z)
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                EXPECT(out[z][y][x] == (z && y ? in[z][y][x] + (z == 2 ? 1000 : 0) : -1));
}

int main() {
    managed();
    planes();
    volumes();
    std::printf("memory: all is right\n");
    return 0;
}
