// Cheapest path from the first row of a grid to the last, stepping straight or diagonally: dynamic programming row by
// row, several rows per launch. A block of 256 threads loads 256 costs and advances them `steps` rows on its own; each
// row makes the rim stale by one more column, so only the inner 256 - 2*halo columns are written.

#define BLOCK 256

extern "C" __global__ void dynproc_kernel(int steps, const int *wall, const int *before, int *after, int cols,
                                          int first_row, int halo)
{
    __shared__ int cost[BLOCK];

    const int tx = threadIdx.x;
    const int col = blockIdx.x * (BLOCK - 2 * halo) - halo + tx;
    const bool on_grid = col >= 0 && col < cols;
    const int west = col == 0 ? tx : tx - 1;
    const int east = col == cols - 1 ? tx : tx + 1;

    if (on_grid)
        cost[tx] = before[col];
    __syncthreads();

    for (int step = 0; step < steps; step++) {
        const bool fresh = on_grid && tx > step && tx < BLOCK - 1 - step;
        int next = 0;
        if (fresh)
            next = min(cost[tx], min(cost[west], cost[east])) + wall[(first_row + step) * cols + col];
        __syncthreads();
        if (fresh)
            cost[tx] = next;
        __syncthreads();
    }

    if (on_grid && tx >= halo && tx < BLOCK - halo)
        after[col] = cost[tx];
}
