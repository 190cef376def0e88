// out = the transpose of in, one element per thread in blocks of 16x16; width and height are multiples of 16.

#define TILE 16

// Rows are read in order, columns are written: every store of a warp goes to lines of its own.
extern "C" __global__ void transpose_naive(float *out, const float *in, int width, int height)
{
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    out[x * height + y] = in[y * width + x];
}

// Through a tile in shared memory, so that reads and writes both follow rows. The tile is not padded: its columns lie in
// two banks, and reading them conflicts.
extern "C" __global__ void transpose_coalesced(float *out, const float *in, int width, int height)
{
    __shared__ float tile[TILE][TILE];
    const int x = blockIdx.x * TILE + threadIdx.x;
    const int y = blockIdx.y * TILE + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    const int out_x = blockIdx.y * TILE + threadIdx.x;
    const int out_y = blockIdx.x * TILE + threadIdx.y;
    out[out_y * height + out_x] = tile[threadIdx.x][threadIdx.y];
}
