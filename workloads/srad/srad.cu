// Speckle-reducing anisotropic diffusion, version 2: one iteration is two kernels over 16x16 tiles. Pixels outside the
// image equal the nearest pixel inside.

#define TILE 16

// Derivatives towards the four neighbours and the diffusion coefficient of every pixel.
// `speckle` is the squared speckle scale of the iteration, measured by the host on a homogeneous region.
extern "C" __global__ void srad_cuda_1(float *to_east, float *to_west, float *to_north, float *to_south,
                                       const float *image, float *coefficient, int rows, int cols, float speckle)
{
    __shared__ float tile[TILE][TILE];

    const int tx = threadIdx.x, ty = threadIdx.y;
    const int col = blockIdx.x * TILE + tx;
    const int row = blockIdx.y * TILE + ty;
    const int pixel = row * cols + col;

    const float here = image[pixel];
    tile[ty][tx] = here;
    __syncthreads();

    const float north = ty > 0 ? tile[ty - 1][tx] : image[row > 0 ? pixel - cols : pixel];
    const float south = ty < TILE - 1 ? tile[ty + 1][tx] : image[row < rows - 1 ? pixel + cols : pixel];
    const float west = tx > 0 ? tile[ty][tx - 1] : image[col > 0 ? pixel - 1 : pixel];
    const float east = tx < TILE - 1 ? tile[ty][tx + 1] : image[col < cols - 1 ? pixel + 1 : pixel];

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
