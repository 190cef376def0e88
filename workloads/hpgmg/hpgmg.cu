// Geometric multigrid on boxes with ghost zones: the finite-volume Helmholtz operator with variable coefficients,
// a alpha u - b div(beta grad u), of second order, zero on the boundary of the domain.
//
// A level is one allocation: box after box, and in each box its twelve vectors, each a cube of dim + 2 cells with rows
// padded to `row` doubles and the whole to `volume`.

enum { TEMP, UTRUE, F_MINUS_AV, F, U, ALPHA, BETA_I, BETA_J, BETA_K, DINV, L1INV, VALID, VECTORS };

#define A 1.0
#define B 1.0

// The first cell that is no ghost, of one vector of one box.
__device__ static double *vector_of(double *level, int box, int vector, int dim, int row, int volume)
{
    return level + (size_t)(box * VECTORS + vector) * volume + row * (dim + 2) + row + 1;
}

// The operator at the cell that `at` points to, in the first vector of its box. A neighbour beyond the domain has `valid`
// 0 and counts as the cell's own value with the other sign.
__device__ static double apply_operator(const double *at, ptrdiff_t row, ptrdiff_t plane, ptrdiff_t volume, double h2inv)
{
    const double *u = at + U * volume, *valid = at + VALID * volume;
    const double *beta_i = at + BETA_I * volume, *beta_j = beta_i + volume, *beta_k = beta_j + volume;
    const double here = u[0], twice = 2.0 * here;
    const double flux = beta_i[0] * (valid[-1] * (here + u[-1]) - twice)
                      + beta_i[1] * (valid[1] * (here + u[1]) - twice)
                      + beta_j[0] * (valid[-row] * (here + u[-row]) - twice)
                      + beta_j[row] * (valid[row] * (here + u[row]) - twice)
                      + beta_k[0] * (valid[-plane] * (here + u[-plane]) - twice)
                      + beta_k[plane] * (valid[plane] * (here + u[plane]) - twice);
    return A * at[ALPHA * volume] * here - B * h2inv * flux;
}

// Fills the ghost cells of a vector from the six neighbouring boxes; `neighbours` holds -1 beyond the domain.
extern "C" __global__ void exchange_boundary(double *level, const int *neighbours, int vector, int dim, int row,
                                             int volume)
{
    const int j = blockIdx.x * blockDim.y + threadIdx.y;
    const int face = blockIdx.y, box = blockIdx.z;
    const int from = neighbours[box * 6 + face];
    if (j >= dim || from < 0)
        return;
    const int axis = face >> 1, high = face & 1;
    const int plane = row * (dim + 2);
    const int across = axis == 0 ? row : 1, up = axis == 2 ? row : plane;
    const int normal = axis == 0 ? 1 : axis == 1 ? row : plane;
    const int along = threadIdx.x * across + j * up;
    const double *source = vector_of(level, from, vector, dim, row, volume);
    double *ghosts = vector_of(level, box, vector, dim, row, volume);
    ghosts[along + (high ? dim : -1) * normal] = source[along + (high ? 0 : dim - 1) * normal];
}

// Half a Gauss-Seidel sweep: the cells of one colour of a chequerboard.
extern "C" __global__ void smooth(double *level, int color, double h2inv, int dim, int row, int volume)
{
    const int j = blockIdx.x * blockDim.y + threadIdx.y;
    const int k = blockIdx.y * blockDim.z + threadIdx.z;
    if (j >= dim || k >= dim)
        return;
    const int i = 2 * threadIdx.x + (j + k + color & 1);
    const int plane = row * (dim + 2);
    double *at = vector_of(level, blockIdx.z, 0, dim, row, volume) + (k * plane + j * row + i);
    const double left = at[F * volume] - apply_operator(at, row, plane, volume, h2inv);
    at[U * volume] += at[DINV * volume] * left;
}

// What is left of the right-hand side, into vector `into`.
extern "C" __global__ void residual(double *level, int into, double h2inv, int dim, int row, int volume)
{
    const int j = blockIdx.x * blockDim.y + threadIdx.y;
    if (j >= dim)
        return;
    const int plane = row * (dim + 2);
    double *at = vector_of(level, blockIdx.z, 0, dim, row, volume) + (blockIdx.y * plane + j * row + threadIdx.x);
    at[into * volume] = at[F * volume] - apply_operator(at, row, plane, volume, h2inv);
}

// Means of eight fine cells, one coarse cell per thread; `coarse` is the first cell of the first box's vector.
extern "C" __global__ void restriction(double *level, int dim, int row, int volume, double *coarse, int coarse_row,
                                       int coarse_plane, int coarse_box)
{
    const int j = blockIdx.x * blockDim.y + threadIdx.y, k = blockIdx.y;
    if (2 * j >= dim)
        return;
    const int i = threadIdx.x, plane = row * (dim + 2);
    const double *fine = vector_of(level, blockIdx.z, TEMP, dim, row, volume) + 2 * (k * plane + j * row + i);
    const double sum = fine[0] + fine[1] + fine[row] + fine[row + 1] + fine[plane] + fine[plane + 1]
                     + fine[plane + row] + fine[plane + row + 1];
    coarse[blockIdx.z * coarse_box + k * coarse_plane + j * coarse_row + i] = 0.125 * sum;
}

// Adds the coarse correction to the eight fine cells below each coarse cell, one fine cell per thread.
extern "C" __global__ void interpolation(double *level, int dim, int row, int volume, const double *coarse,
                                         int coarse_row, int coarse_plane, int coarse_box)
{
    const int j = blockIdx.x * blockDim.y + threadIdx.y, k = blockIdx.y;
    if (j >= dim)
        return;
    const int i = threadIdx.x;
    double *fine = vector_of(level, blockIdx.z, U, dim, row, volume);
    fine[k * row * (dim + 2) + j * row + i] +=
        coarse[blockIdx.z * coarse_box + (k >> 1) * coarse_plane + (j >> 1) * coarse_row + (i >> 1)];
}

extern "C" __global__ void zero_vector(double *level, int vector, int dim, int row, int volume)
{
    const int j = blockIdx.x * blockDim.y + threadIdx.y;
    if (j < dim)
        vector_of(level, blockIdx.z, vector, dim, row, volume)[blockIdx.y * row * (dim + 2) + j * row + threadIdx.x] =
            0.0;
}

// The largest absolute value of a vector in each box: one block per box, a power of two of threads.
extern "C" __global__ void max_norm(double *level, int vector, int dim, int row, int volume, double *norms)
{
    __shared__ double largest[128];
    const double *values = vector_of(level, blockIdx.x, vector, dim, row, volume);
    double most = 0.0;
    for (int line = threadIdx.x; line < dim * dim; line += blockDim.x) {
        const double *start = values + line / dim * row * (dim + 2) + line % dim * row;
        for (int i = 0; i < dim; ++i)
            most = fmax(most, fabs(start[i]));
    }
    largest[threadIdx.x] = most;
    __syncthreads();
    for (int width = blockDim.x / 2; width > 0; width /= 2) {
        if (threadIdx.x < width)
            largest[threadIdx.x] = fmax(largest[threadIdx.x], largest[threadIdx.x + width]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        norms[blockIdx.x] = largest[0];
}
