// Speckle-reducing anisotropic diffusion, version 2: one iteration is two kernels over 16x16 tiles. Pixels outside the
// image equal the nearest pixel inside.

#define TILE 16

// Derivatives towards the four neighbours and the diffusion coefficient of every pixel.
// `speckle` is the squared speckle scale of the iteration, measured by the host on a homogeneous region.
extern "C" __global__ void srad_cuda_1(float *to_east, float *to_west, float *to_north, float *to_south,
                                       const float *image, float *coefficient, int rows, int cols, float speckle)
{
    __shared__ float tile[TILE][TILE];
    __shared__ float above[TILE][TILE], below[TILE][TILE], left[TILE][TILE], right[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int col = blockIdx.x * TILE + tx;
    const int row = blockIdx.y * TILE + ty;
    const int pixel = row * cols + col;

    // Every thread brings the pixels around the tile in its own row and column, then its own: the accesses of the published
    // program, one behind the other because each ends in shared memory.
    const int top = blockIdx.y * TILE, bottom = top + TILE - 1;
    const int first = blockIdx.x * TILE, last = first + TILE - 1;
    below[ty][tx] = image[(bottom < rows - 1 ? bottom + 1 : bottom) * cols + col];
    above[ty][tx] = image[(top > 0 ? top - 1 : top) * cols + col];
    __syncthreads();
    left[ty][tx] = image[row * cols + (first > 0 ? first - 1 : first)];
    right[ty][tx] = image[row * cols + (last < cols - 1 ? last + 1 : last)];
    __syncthreads();
    tile[ty][tx] = image[pixel];
    __syncthreads();

    const float here = tile[ty][tx];
    const float north = ty > 0 ? tile[ty - 1][tx] : above[ty][tx];
    const float south = ty < TILE - 1 ? tile[ty + 1][tx] : below[ty][tx];
    const float west = tx > 0 ? tile[ty][tx - 1] : left[ty][tx];
    const float east = tx < TILE - 1 ? tile[ty][tx + 1] : right[ty][tx];

    const float dn = north - here, ds = south - here, dw = west - here, de = east - here;
    const float gradient = (dn * dn + ds * ds + dw * dw + de * de) / (here * here);
    const float laplacian = (dn + ds + dw + de) / here;
    const float numerator = 0.5f * gradient - 0.0625f * laplacian * laplacian;
    const float denominator = 1.0f + 0.25f * laplacian;
    const float variation = numerator / (denominator * denominator);
    const float excess = (variation - speckle) / (speckle * (1.0f + speckle));

    coefficient[pixel] = fminf(fmaxf(1.0f / (1.0f + excess), 0.0f), 1.0f);
    to_east[pixel] = de;
    to_west[pixel] = dw;
    to_north[pixel] = dn;
    to_south[pixel] = ds;
}

// One diffusion step with the coefficients of the pixel itself and of its southern and eastern neighbours.
extern "C" __global__ void srad_cuda_2(const float *to_east, const float *to_west, const float *to_north,
                                       const float *to_south, float *image, const float *coefficient, int rows,
                                       int cols, float lambda)
{
    __shared__ float tile[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int col = blockIdx.x * TILE + tx;
    const int row = blockIdx.y * TILE + ty;
    const int pixel = row * cols + col;

    const float here = coefficient[pixel];
    tile[ty][tx] = here;
    __syncthreads();

    const float south = ty < TILE - 1 ? tile[ty + 1][tx] : coefficient[row < rows - 1 ? pixel + cols : pixel];
    const float east = tx < TILE - 1 ? tile[ty][tx + 1] : coefficient[col < cols - 1 ? pixel + 1 : pixel];

    const float divergence =
        here * to_north[pixel] + south * to_south[pixel] + here * to_west[pixel] + east * to_east[pixel];
    image[pixel] += 0.25f * lambda * divergence;
}
