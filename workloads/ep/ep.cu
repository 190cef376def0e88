// Gaussian deviates from pairs of uniform random numbers, counted in square annuli. One batch of pairs per thread, blocks
// of batches one after another in the same buffers.
//
// Uniform numbers come from x' = 5^13 x mod 2^46 and are x' / 2^46. All batches together use one sequence without gaps,
// so a thread first leaps to its place in it.

#define ANNULI 10
#define MULTIPLIER 1220703125ull
#define MASK ((1ull << 46) - 1)

// The counters of this block's batches begin at zero.
extern "C" __global__ void ep_clear(double *qq, int capacity, int batches)
{
    const int batch = blockIdx.x * blockDim.x + threadIdx.x;
    if (batch >= batches)
        return;
    for (int annulus = 0; annulus < ANNULI; annulus++)
        qq[annulus * capacity + batch] = 0.0;
}

// leaps[0] is the seed of the whole sequence, leaps[1 + b] the factor that skips 2^b batches.
extern "C" __global__ void ep_randoms(double *xx, const unsigned long long *__restrict__ leaps, int pairs, int first_batch,
                                      int batches)
{
    const int batch = blockIdx.x * blockDim.x + threadIdx.x;
    if (batch >= batches)
        return;
    unsigned long long x = leaps[0];
    for (int skip = first_batch + batch, bit = 1; skip != 0; skip >>= 1, bit++)
        if (skip & 1)
            x = x * leaps[bit] & MASK;
    double *mine = xx + (size_t)batch * 2 * pairs;
    for (int i = 0; i < 2 * pairs; i++) {
        x = x * MULTIPLIER & MASK;
        mine[i] = (double)(long long)x * (1.0 / (double)(1ull << 46));
    }
}

// The polar method: a point of the unit disc gives two deviates; points outside are rejected.
extern "C" __global__ void ep_gaussian(const double *__restrict__ xx, double *qq, double *sx, double *sy, int pairs,
                                       int capacity, int batches)
{
    const int batch = blockIdx.x * blockDim.x + threadIdx.x;
    if (batch >= batches)
        return;
    const double *mine = xx + (size_t)batch * 2 * pairs;
    double sum_x = 0.0, sum_y = 0.0;
    for (int i = 0; i < pairs; i++) {
        const double x = 2.0 * mine[2 * i] - 1.0;
        const double y = 2.0 * mine[2 * i + 1] - 1.0;
        const double square = x * x + y * y;
        if (square <= 1.0) {
            const double factor = sqrt(-2.0 * log(square) / square);
            const double first = x * factor;
            const double second = y * factor;
            const int annulus = (int)fmax(fabs(first), fabs(second));
            qq[annulus * capacity + batch] += 1.0;
            sum_x += first;
            sum_y += second;
        }
    }
    sx[batch] = sum_x;
    sy[batch] = sum_y;
}

// One block of 256 threads per sum: the counters of each annulus, then both sums of deviates, added to the totals.
extern "C" __global__ void ep_reduce(const double *__restrict__ qq, const double *__restrict__ sx,
                                     const double *__restrict__ sy, double *totals, int capacity, int batches)
{
    __shared__ double partial[256];
    const int which = blockIdx.x;
    const double *values = which < ANNULI ? qq + (size_t)which * capacity : which == ANNULI ? sx : sy;
    double sum = 0.0;
    for (int batch = threadIdx.x; batch < batches; batch += blockDim.x)
        sum += values[batch];
    partial[threadIdx.x] = sum;
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            partial[threadIdx.x] += partial[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        totals[which] += partial[0];
}
