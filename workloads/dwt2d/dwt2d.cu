// Discrete wavelet transform of an image, by lifting: the reversible 5/3 wavelet on integers and the 9/7 wavelet on
// floats, as JPEG 2000 defines them. A block of 32x8 threads transforms a tile of 32x32 pixels in shared memory.

#define TILE 32
#define ROWS 8
// What a pixel's coefficient depends on to each side, for the longer of the two wavelets.
#define HALO 4
#define SIDE (TILE + 2 * HALO)

// Lifting steps change high (odd) and low (even) places in turn, each by its two neighbours.
struct Wavelet53 {
    typedef int Value;
    static const int STEPS = 2;
    static __device__ int lift(int step, int left, int here, int right)
    {
        return step == 0 ? here - ((left + right) >> 1) : here + ((left + right + 2) >> 2);
    }
    static __device__ int scale(int value, bool, bool)
    {
        return value;
    }
};

struct Wavelet97 {
    typedef float Value;
    static const int STEPS = 4;
    static __device__ float lift(int step, float left, float here, float right)
    {
        const float factor = step == 0   ? -1.586134342059924f
                             : step == 1 ? -0.052980118572961f
                             : step == 2 ? 0.882911075530934f
                                         : 0.443506852043971f;
        return here + factor * (left + right);
    }
    static __device__ float scale(float value, bool high_x, bool high_y)
    {
        const float k = 1.230174104914001f;
        return value * (high_x ? k : 1.0f / k) * (high_y ? k : 1.0f / k);
    }
};

// The place that stands for one outside: the image is mirrored at its first and last pixel.
static __device__ int mirror(int place, int size)
{
    if (place < 0)
        place = -place;
    if (place >= size)
        place = 2 * (size - 1) - place;
    // Only for places that no coefficient depends on.
    return max(place, 0);
}

// The four bands (low; high in x; high in y; high in both) of a width x height image follow each other in `bands`. The
// tile is the kernel's: shared variables of static functions get names that differ between compilations.
template <typename Wavelet>
static __device__ void transform(typename Wavelet::Value (*tile)[SIDE + 1],
                                 const typename Wavelet::Value *__restrict__ image,
                                 typename Wavelet::Value *__restrict__ bands, int width, int height)
{
    typedef typename Wavelet::Value Value;
    const int column = threadIdx.x, row = threadIdx.y;
    // A row of the tile with its halo is wider than the block.
    for (int x = column; x < SIDE; x += TILE) {
        const int from_x = mirror(blockIdx.x * TILE - HALO + x, width);
#pragma unroll
        for (int y = row; y < SIDE; y += ROWS)
            tile[y][x] = image[mirror(blockIdx.y * TILE - HALO + y, height) * width + from_x];
    }
    __syncthreads();
    // Along x, one lane per pair of places.
#pragma unroll
    for (int step = 0; step < Wavelet::STEPS; step++) {
        const int x = 2 * column + (step + 1) % 2;
        if (x > 0 && x < SIDE - 1) {
#pragma unroll
            for (int y = row; y < SIDE; y += ROWS)
                tile[y][x] = Wavelet::lift(step, tile[y][x - 1], tile[y][x], tile[y][x + 1]);
        }
        __syncthreads();
    }
    // Along y, one lane per column of the tile without its halo.
    const int x = HALO + column;
#pragma unroll
    for (int step = 0; step < Wavelet::STEPS; step++) {
        for (int y = 2 * row + (step + 1) % 2; y < SIDE - 1; y += 2 * ROWS) {
            if (y > 0)
                tile[y][x] = Wavelet::lift(step, tile[y - 1][x], tile[y][x], tile[y + 1][x]);
        }
        __syncthreads();
    }
    // Half of the lanes write low places, half write high ones: both to places in sequence.
    const int half_width = width / 2, half_height = height / 2;
    const int high_x = column / (TILE / 2);
    const int pair = column % (TILE / 2);
    const int to_x = blockIdx.x * (TILE / 2) + pair;
    if (to_x >= half_width)
        return;
#pragma unroll
    for (int y = row; y < TILE; y += ROWS) {
        const int high_y = y / (TILE / 2);
        const int to_y = blockIdx.y * (TILE / 2) + y % (TILE / 2);
        const Value value = tile[HALO + 2 * (y % (TILE / 2)) + high_y][HALO + 2 * pair + high_x];
        if (to_y < half_height)
            bands[((2 * high_y + high_x) * half_height + to_y) * half_width + to_x] =
                Wavelet::scale(value, high_x, high_y);
    }
}

extern "C" __global__ void __launch_bounds__(TILE *ROWS) fdwt53(const int *image, int *bands, int width, int height)
{
    __shared__ int tile[SIDE][SIDE + 1];
    transform<Wavelet53>(tile, image, bands, width, height);
}

extern "C" __global__ void __launch_bounds__(TILE *ROWS) fdwt97(const float *image, float *bands, int width, int height)
{
    __shared__ float tile[SIDE][SIDE + 1];
    transform<Wavelet97>(tile, image, bands, width, height);
}

// Pixels of three bytes to three planes about zero.
extern "C" __global__ void split_int(const unsigned char *__restrict__ pixels, int *red, int *green, int *blue, int count)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= count)
        return;
    red[pixel] = pixels[3 * pixel] - 128;
    green[pixel] = pixels[3 * pixel + 1] - 128;
    blue[pixel] = pixels[3 * pixel + 2] - 128;
}

extern "C" __global__ void split_float(const unsigned char *__restrict__ pixels, float *red, float *green, float *blue,
                                       int count)
{
    const int pixel = blockIdx.x * blockDim.x + threadIdx.x;
    if (pixel >= count)
        return;
    red[pixel] = pixels[3 * pixel] / 255.0f - 0.5f;
    green[pixel] = pixels[3 * pixel + 1] / 255.0f - 0.5f;
    blue[pixel] = pixels[3 * pixel + 2] / 255.0f - 0.5f;
}

// The low band becomes the image of the next level.
extern "C" __global__ void copy_low_band(const unsigned *__restrict__ bands, unsigned *image, int count)
{
    const int place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place < count)
        image[place] = bands[place];
}
