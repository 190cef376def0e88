// Surface objects: a kernel writes images that the next one reads, and a copy brings back.
#include "check.h"
#include <cstring>
#include <vector>

const int W = 32, H = 16, D = 3;

__global__ void draw(cudaSurfaceObject_t flat, cudaSurfaceObject_t solid) {
    int x = threadIdx.x, y = threadIdx.y;
    surf2Dwrite(make_float2(x, y), flat, x * sizeof(float2), y);
    for (int z = 0; z < D; ++z) surf3Dwrite(x + 100 * y + 10000 * z, solid, x * sizeof(int), y, z);
}

__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = threadIdx.y;
    float2 v = surf2Dread<float2>(from, (W - 1 - x) * sizeof(float2), y);
    // What lies outside reads as zero.
    float2 outside = surf2Dread<float2>(from, (W + x) * sizeof(float2), y, cudaBoundaryModeZero);
    surf2Dwrite(make_float2(v.y + outside.x, v.x), to, x * sizeof(float2), y);
}

static cudaSurfaceObject_t surface(cudaArray_t array) {
    cudaResourceDesc resource;
    std::memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t made;
    CUDA(cudaCreateSurfaceObject(&made, &resource));
    return made;
}

int main() {
    cudaChannelFormatDesc two = cudaCreateChannelDesc<float2>(), one = cudaCreateChannelDesc<int>();
    cudaArray_t first, second, solid;
    CUDA(cudaMallocArray(&first, &two, W, H, cudaArraySurfaceLoadStore));
    CUDA(cudaMallocArray(&second, &two, W, H, cudaArraySurfaceLoadStore));
    CUDA(cudaMalloc3DArray(&solid, &one, make_cudaExtent(W, H, D), cudaArraySurfaceLoadStore));
    draw<<<1, dim3(W, H)>>>(surface(first), surface(solid));
    turn<<<1, dim3(W, H)>>>(surface(first), surface(second));

    std::vector<float2> found(W * H);
    CUDA(cudaMemcpy2DFromArray(found.data(), W * sizeof(float2), second, 0, 0, W * sizeof(float2), H, cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; ++y)
        for (int x = 0; x < W; ++x) EXPECT(found[y * W + x].x == y && found[y * W + x].y == W - 1 - x);

    // The middle of the volume.
    std::vector<int> block(8 * 4);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = solid;
    copy.srcPos = make_cudaPos(5, 6, 1);
    copy.dstPtr = make_cudaPitchedPtr(block.data(), 8 * sizeof(int), 8, 4);
    copy.extent = make_cudaExtent(8, 4, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    CUDA(cudaMemcpy3D(&copy));
    for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 8; ++x) EXPECT(block[y * 8 + x] == x + 5 + 100 * (y + 6) + 10000);
    std::puts("surfaces: all is right");
    return 0;
}
