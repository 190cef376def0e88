// One step of the lattice Boltzmann method on a list of fluid cells: 19 directions, two relaxation times. Distributions are
// stored direction by direction, `stride` apart. Direction 0 is rest, 2p + 1 and 2p + 2 are the opposite ones of pair p.

#define DIRECTIONS 19
#define PAIRS 9

// The first direction of each pair; the other is its negative.
static __device__ const int CX[PAIRS] = {1, 0, 0, 1, 1, 1, 1, 0, 0};
static __device__ const int CY[PAIRS] = {0, 1, 0, 1, -1, 0, 0, 1, 1};
static __device__ const int CZ[PAIRS] = {0, 0, 1, 0, 0, 1, -1, 1, -1};

// `adjacency` says for each direction but rest where the distribution that arrives in a cell stands now: in the cell
// upstream, or, where that is solid, in the same cell in the opposite direction. One thread per cell.
extern "C" __global__ void lbm_step(const double *__restrict__ from, double *__restrict__ to,
                                    const int *__restrict__ adjacency, int cells, int stride, double even_rate,
                                    double odd_rate, double force)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= cells)
        return;
    double f[DIRECTIONS];
    f[0] = from[cell];
#pragma unroll
    for (int q = 1; q < DIRECTIONS; q++)
        f[q] = from[adjacency[(q - 1) * stride + cell]];

    double density = f[0], ux = 0.0, uy = 0.0, uz = 0.0;
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        const double odd = f[2 * p + 1] - f[2 * p + 2];
        density += f[2 * p + 1] + f[2 * p + 2];
        if (CX[p])
            ux += odd;
        if (CY[p])
            uy += CY[p] > 0 ? odd : -odd;
        if (CZ[p])
            uz += CZ[p] > 0 ? odd : -odd;
    }
    const double specific = 1.0 / density;
    ux *= specific;
    uy *= specific;
    uz *= specific;
    const double still = 1.0 - 1.5 * (ux * ux + uy * uy + uz * uz);

    to[cell] = f[0] - even_rate * (f[0] - density * still * (1.0 / 3.0));
#pragma unroll
    for (int p = 0; p < PAIRS; p++) {
        const double share = p < 3 ? 1.0 / 18.0 : 1.0 / 36.0;
        const double weight = share * density;
        const double along = CX[p] * ux + CY[p] * uy + CZ[p] * uz;
        const double even = 0.5 * (f[2 * p + 1] + f[2 * p + 2]) - weight * (still + 4.5 * along * along);
        const double odd = 0.5 * (f[2 * p + 1] - f[2 * p + 2]) - weight * 3.0 * along;
        const double push = CX[p] * 3.0 * share * force - odd_rate * odd;
        to[(2 * p + 1) * stride + cell] = f[2 * p + 1] - even_rate * even + push;
        to[(2 * p + 2) * stride + cell] = f[2 * p + 2] - even_rate * even - push;
    }
}
