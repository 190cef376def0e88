// The kernels whose counters of a Quadro GV100 were published, written here: the algorithm, the sizes, the launches and the
// precision of every operation are those of the public programs (Rodinia 3.1, Parboil, NVIDIA's samples), because they decide
// what a card does; nothing else is theirs. README.md beside this file says which row each kernel stands for.

// ---- Rodinia backprop: 16 hidden units, rows of 17 weights ----

#define UNITS 16

extern "C" __global__ void layerforward(const float *inputs, float *weights, float *partial_sums, int hidden)
{
    __shared__ float values[UNITS];
    __shared__ float products[UNITS][UNITS];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = UNITS * blockIdx.y + ty + 1;
    const int place = (hidden + 1) * row + tx + 1;

    if (tx == 0)
        values[ty] = inputs[row];
    __syncthreads();
    products[ty][tx] = weights[place];
    __syncthreads();
    products[ty][tx] *= values[ty];
    __syncthreads();
    // The public program computes the distances of its tree with floating-point powers, and asks for the rank by a remainder.
    for (int level = 1; level <= __log2f(UNITS); level++) {
        const int distance = __powf(2.0f, level);
        if (ty % distance == 0)
            products[ty][tx] += products[ty + distance / 2][tx];
        __syncthreads();
    }
    weights[place] = products[ty][tx];
    __syncthreads();
    if (tx == 0)
        partial_sums[blockIdx.y * hidden + ty] = products[tx][ty];
}

// Rates are double precision there, and what is added is computed twice: after the first store the compiler cannot know better.
extern "C" __global__ void adjust_weights(float *deltas, int hidden, float *inputs, float *weights, float *changes)
{
    const int row = UNITS * blockIdx.y + threadIdx.y + 1;
    const int unit = threadIdx.x + 1;
    const int place = (hidden + 1) * row + unit;
    weights[place] += 0.3 * deltas[unit] * inputs[row] + 0.3 * changes[place];
    changes[place] = 0.3 * deltas[unit] * inputs[row] + 0.3 * changes[place];
    __syncthreads();
    if (threadIdx.y == 0 && blockIdx.y == 0) {
        weights[unit] += 0.3 * deltas[unit] + 0.3 * changes[unit];
        changes[unit] = 0.3 * deltas[unit] + 0.3 * changes[unit];
    }
}

// ---- Rodinia hotspot: tiles of 16x16, `steps` steps of a launch ----

#define TILE 16

extern "C" __global__ void calculate_temp(int steps, const float *power, const float *before, float *after, int cols, int rows,
                                          int border, float capacity, float rx, float ry, float rz, float step)
{
    __shared__ float now[TILE][TILE];
    __shared__ float heat[TILE][TILE];
    __shared__ float next[TILE][TILE];
    const float ambient = 80.0;
    const float rate = step / capacity;
    const float gx = 1 / rx, gy = 1 / ry, gz = 1 / rz;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int inner = TILE - steps * 2;
    const int top = inner * blockIdx.y - border, left = inner * blockIdx.x - border;
    const int row = top + ty, col = left + tx;
    const int cell = cols * row + col;
    if (row >= 0 && row <= rows - 1 && col >= 0 && col <= cols - 1) {
        now[ty][tx] = before[cell];
        heat[ty][tx] = power[cell];
    }
    __syncthreads();

    // The part of the tile that lies on the chip; a cell at its edge is its own neighbour.
    const int bottom = top + TILE - 1, right = left + TILE - 1;
    const int first_y = top < 0 ? -top : 0, last_y = bottom > rows - 1 ? TILE - 1 - (bottom - rows + 1) : TILE - 1;
    const int first_x = left < 0 ? -left : 0, last_x = right > cols - 1 ? TILE - 1 - (right - cols + 1) : TILE - 1;
    const int north = ty - 1 < first_y ? first_y : ty - 1, south = ty + 1 > last_y ? last_y : ty + 1;
    const int west = tx - 1 < first_x ? first_x : tx - 1, east = tx + 1 > last_x ? last_x : tx + 1;

    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = false;
        if (tx >= i + 1 && tx <= TILE - i - 2 && ty >= i + 1 && ty <= TILE - i - 2 && tx >= first_x && tx <= last_x
            && ty >= first_y && ty <= last_y) {
            computed = true;
            // The 2.0 is double precision there.
            next[ty][tx] = now[ty][tx]
                         + rate * (heat[ty][tx] + (now[south][tx] + now[north][tx] - 2.0 * now[ty][tx]) * gy
                                   + (now[ty][east] + now[ty][west] - 2.0 * now[ty][tx]) * gx + (ambient - now[ty][tx]) * gz);
        }
        __syncthreads();
        if (i == steps - 1)
            break;
        if (computed)
            now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed)
        after[cell] = next[ty][tx];
}

// ---- Parboil sgemm: a block has 128 rows of A and 16 columns of B, a thread one row ----

#define COLUMNS 16
#define DEPTH 8

extern "C" __global__ void sgemm(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k, float alpha,
                                 float beta)
{
    __shared__ float part[DEPTH][COLUMNS];
    float sums[COLUMNS];
    for (int i = 0; i < COLUMNS; i++)
        sums[i] = 0.0f;
    const int row = blockIdx.x * COLUMNS * DEPTH + threadIdx.y * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * COLUMNS + threadIdx.x;
    for (int i = 0; i < k; i += DEPTH) {
        part[threadIdx.y][threadIdx.x] = b[column + (i + threadIdx.y) * ldb];
        __syncthreads();
        for (int j = 0; j < DEPTH; j++) {
            const float value = a[row + (i + j) * lda];
            for (int n = 0; n < COLUMNS; n++)
                sums[n] += value * part[j][n];
        }
        __syncthreads();
    }
    const int first = ldc * blockIdx.y * COLUMNS + row;
    for (int n = 0; n < COLUMNS; n++)
        c[first + n * ldc] = c[first + n * ldc] * beta + alpha * sums[n];
}

// ---- Parboil mri-q: sums over samples in constant memory, fast sine and cosine ----

#define SAMPLES 1024

struct Sample {
    float x, y, z, magnitude;
};
__constant__ Sample samples[SAMPLES];

extern "C" __global__ void compute_q(int total, int from, const float *x, const float *y, const float *z, float *real, float *imaginary)
{
    const int voxel = blockIdx.x * 256 + threadIdx.x;
    const float vx = x[voxel], vy = y[voxel], vz = z[voxel];
    float re = real[voxel], im = imaginary[voxel];
    int k = 0;
    if (total % 2) {
        const float angle = 6.2831853071795864769f * (samples[0].x * vx + samples[0].y * vy + samples[0].z * vz);
        re += samples[0].magnitude * __cosf(angle);
        im += samples[0].magnitude * __sinf(angle);
        k++;
        from++;
    }
    for (; k < SAMPLES && from < total; k += 2, from += 2) {
        const float angle = 6.2831853071795864769f * (samples[k].x * vx + samples[k].y * vy + samples[k].z * vz);
        re += samples[k].magnitude * __cosf(angle);
        im += samples[k].magnitude * __sinf(angle);
        const float second = 6.2831853071795864769f * (samples[k + 1].x * vx + samples[k + 1].y * vy + samples[k + 1].z * vz);
        re += samples[k + 1].magnitude * __cosf(second);
        im += samples[k + 1].magnitude * __sinf(second);
    }
    real[voxel] = re;
    imaginary[voxel] = im;
}

// ---- NVIDIA's dct8x8: by two products with a matrix in constant memory, and by the fast transform ----

#define SIDE 8

__constant__ float basis[SIDE * SIDE];
__shared__ float first_block[SIDE * SIDE];
__shared__ float second_block[SIDE * SIDE];

extern "C" __global__ void dct_by_products(float *coefficients, int width, cudaTextureObject_t image)
{
    const int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    const float u = (float)((bx << 3) + tx) + 0.5f, v = (float)((by << 3) + ty) + 0.5f;
    first_block[(ty << 3) + tx] = tex2D<float>(image, u, v);
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        sum += basis[i * SIDE + ty] * first_block[i * SIDE + tx];
    second_block[(ty << 3) + tx] = sum;
    __syncthreads();
    sum = 0;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        sum += second_block[(ty << 3) + i] * basis[i * SIDE + tx];
    first_block[(ty << 3) + tx] = sum;
    __syncthreads();
    coefficients[((by << 3) + ty) * width + (bx << 3) + tx] = first_block[(ty << 3) + tx];
}

#define DCT_WIDTH 32
#define DCT_HEIGHT 16
#define DCT_STRIDE (DCT_WIDTH + 1)

static __device__ void dct_of_eight(float *v, int step)
{
    const float p07 = v[0] + v[7 * step], p16 = v[step] + v[6 * step], p25 = v[2 * step] + v[5 * step],
                p34 = v[3 * step] + v[4 * step];
    const float m07 = v[0] - v[7 * step], m61 = v[6 * step] - v[step], m25 = v[2 * step] - v[5 * step],
                m43 = v[4 * step] - v[3 * step];
    const float even = p07 + p34, even_less = p07 - p34, odd = p16 + p25, odd_less = p16 - p25;
    const float norm = 0.35355339059f;
    const float a = 1.387039845f, b = 1.306562965f, c = 1.175875602f, d = 0.785694958f, e = 0.541196100f, f = 0.275899379f;
    v[0] = norm * (even + odd);
    v[2 * step] = norm * (b * even_less + e * odd_less);
    v[4 * step] = norm * (even - odd);
    v[6 * step] = norm * (e * even_less - b * odd_less);
    v[step] = norm * (a * m07 - c * m61 + d * m25 - f * m43);
    v[3 * step] = norm * (c * m07 + f * m61 - a * m25 + d * m43);
    v[5 * step] = norm * (d * m07 + a * m61 + f * m25 - c * m43);
    v[7 * step] = norm * (f * m07 + d * m61 + c * m25 + a * m43);
}

extern "C" __global__ void dct_fast(float *coefficients, const float *image, int width)
{
    __shared__ float tile[DCT_HEIGHT * DCT_STRIDE];
    const int in_row = threadIdx.y * SIDE + threadIdx.x, in_column = threadIdx.z * SIDE;
    const int corner = (blockIdx.y * DCT_HEIGHT + in_column) * width + blockIdx.x * DCT_WIDTH + in_row;
    float *mine = tile + in_column * DCT_STRIDE + in_row;
#pragma unroll
    for (unsigned int i = 0; i < SIDE; i++)
        mine[i * DCT_STRIDE] = image[corner + i * width];
    __syncthreads();
    dct_of_eight(tile + (in_column + threadIdx.x) * DCT_STRIDE + in_row - threadIdx.x, 1);
    __syncthreads();
    dct_of_eight(mine, DCT_STRIDE);
    __syncthreads();
    for (unsigned int i = 0; i < SIDE; i++)
        coefficients[corner + i * width] = mine[i * DCT_STRIDE];
}

// ---- NVIDIA's fastWalshTransform: a step of radix four in global memory ----

extern "C" __global__ void walsh_of_four(float *output, const float *input, int stride)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = blockDim.x * gridDim.x * 4;
    const float *from = input + blockIdx.y * n;
    float *to = output + blockIdx.y * n;
    const int low = thread & (stride - 1);
    const int i0 = ((thread - low) << 2) + low, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
    const float a = from[i0], b = from[i1], c = from[i2], d = from[i3];
    const float ac = a + c, a_c = a - c, bd = b + d, b_d = b - d;
    to[i0] = ac + bd;
    to[i1] = ac - bd;
    to[i2] = a_c + b_d;
    to[i3] = a_c - b_d;
}

// ---- NVIDIA's quasirandomGenerator: Niederreiter's sequence, and Moro's inverse of the normal distribution ----

#define DIMENSIONS 3
#define BITS 31

__constant__ unsigned int directions[DIMENSIONS][BITS];

extern "C" __global__ void quasirandom(float *output, unsigned int seed, unsigned int n)
{
    const unsigned int *mine = directions[threadIdx.y];
    const unsigned int thread = __umul24(blockDim.x, blockIdx.x) + threadIdx.x;
    const unsigned int threads = __umul24(blockDim.x, gridDim.x);
    for (unsigned int at = thread; at < n; at += threads) {
        unsigned int result = 0, data = seed + at;
        for (int bit = 0; bit < BITS; bit++, data >>= 1)
            if (data & 1)
                result ^= mine[bit];
        output[__umul24(threadIdx.y, n) + at] = (float)(result + 1) * (1.0f / (float)0x80000001U);
    }
}

static __device__ float inverse_normal(unsigned int x)
{
    bool negate = false;
    if (x >= 0x80000000u) {
        x = 0xffffffffu - x;
        negate = true;
    }
    const float scale = 1.0f / (float)0xffffffffu;
    const float p = x * scale + scale / 2.0f;
    const float centred = p - 0.5f;
    float z;
    if (centred > -0.42f) {
        z = centred * centred;
        z = centred * (((-25.44106049637f * z + 41.39119773534f) * z - 18.61500062529f) * z + 2.50662823884f)
          / ((((3.13082909833f * z - 21.06224101826f) * z + 23.08336743743f) * z - 8.4735109309f) * z + 1.0f);
    } else {
        z = __logf(-__logf(p));
        z = -(0.337475482272615f
              + z * (0.976169019091719f
                     + z * (0.160797971491821f
                            + z * (2.76438810333863E-02f
                                   + z * (3.8405729373609E-03f
                                          + z * (3.951896511919E-04f
                                                 + z * (3.21767881768E-05f + z * (2.888167364E-07f + z * 3.960315187E-07f))))))));
    }
    return negate ? -z : z;
}

extern "C" __global__ void inverse_cnd(float *output, const unsigned int *input, unsigned int n)
{
    const unsigned int distance = 0xffffffffu / (n + 1);
    const unsigned int thread = __umul24(blockDim.x, blockIdx.x) + threadIdx.x;
    const unsigned int threads = __umul24(blockDim.x, gridDim.x);
    if (input)
        for (unsigned int at = thread; at < n; at += threads)
            output[at] = inverse_normal(input[at]);
    else
        for (unsigned int at = thread; at < n; at += threads)
            output[at] = inverse_normal((at + 1) * distance);
}
