// Temperature of a chip: explicit time steps of the heat equation on a grid, several steps per launch.
//
// A block loads a 16x16 tile and advances it `steps` times on its own; each step makes the rim of the tile stale by one
// more cell, so only the inner (16 - 2*halo)^2 cells are written. Outside the chip there is no heat flow: a cell at the
// edge sees itself as its missing neighbour.
//
// As in the published program, every thread divides four times before it begins, and the factor of two is a double, which makes
// most of a step double precision.

#define TILE 16

extern "C" __global__ void calculate_temp(int steps, int halo, const float *power, const float *before, float *after,
                                          int rows, int cols, float capacity, float resistance_x, float resistance_y,
                                          float resistance_z, float time, float ambient)
{
    __shared__ float temperature[TILE][TILE];
    __shared__ float heat[TILE][TILE];

    const float rate = time / capacity;
    const float conductance_x = 1 / resistance_x, conductance_y = 1 / resistance_y, conductance_z = 1 / resistance_z;
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int useful = TILE - 2 * halo;
    const int col = blockIdx.x * useful - halo + tx;
    const int row = blockIdx.y * useful - halo + ty;
    const int cell = row * cols + col;
    const bool on_chip = row >= 0 && row < rows && col >= 0 && col < cols;

    if (on_chip) {
        temperature[ty][tx] = before[cell];
        heat[ty][tx] = power[cell];
    }
    __syncthreads();

    const int north = row == 0 ? ty : ty - 1;
    const int south = row == rows - 1 ? ty : ty + 1;
    const int west = col == 0 ? tx : tx - 1;
    const int east = col == cols - 1 ? tx : tx + 1;

    for (int step = 1; step <= steps; step++) {
        const bool fresh = on_chip && tx >= step && tx < TILE - step && ty >= step && ty < TILE - step;
        float next = 0.0f;
        if (fresh) {
            const float now = temperature[ty][tx];
            next = now + rate * (heat[ty][tx]
                 + (temperature[south][tx] + temperature[north][tx] - 2.0 * now) * conductance_y
                 + (temperature[ty][east] + temperature[ty][west] - 2.0 * now) * conductance_x
                 + (ambient - now) * conductance_z);
        }
        __syncthreads();
        if (fresh)
            temperature[ty][tx] = next;
        __syncthreads();
    }

    if (on_chip && tx >= halo && tx < TILE - halo && ty >= halo && ty < TILE - halo)
        after[cell] = temperature[ty][tx];
}
