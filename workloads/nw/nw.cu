// Needleman-Wunsch: the score table of the best global alignment of two sequences, filled in 16x16 tiles along
// anti-diagonals. A block of 16 threads fills one tile; the tiles of one launch lie on one anti-diagonal, so they do not
// depend on each other. Row 0 and column 0 of the table hold the gap penalties.

#define TILE 16

// Fills the tile whose upper left cell is (1 + tile_row*16, 1 + tile_col*16) of the table of `width` columns.
__device__ __forceinline__ void fill_tile(const int *similarity, int *table, int width, int penalty, int tile_row, int tile_col)
{
    __shared__ int score[TILE + 1][TILE + 1];
    __shared__ int pair[TILE][TILE];

    const int t = threadIdx.x;
    const int corner = tile_row * TILE * width + tile_col * TILE;

    if (t == 0)
        score[0][0] = table[corner];
    for (int row = 0; row < TILE; row++)
        pair[row][t] = similarity[corner + (row + 1) * width + t + 1];
    score[t + 1][0] = table[corner + (t + 1) * width];
    score[0][t + 1] = table[corner + t + 1];
    __syncthreads();

    // Thread t walks down column t, one row later than its left neighbour.
    for (int wave = 0; wave < 2 * TILE - 1; wave++) {
        const int row = wave - t;
        if (row >= 0 && row < TILE) {
            const int aligned = score[row][t] + pair[row][t];
            const int gap = max(score[row][t + 1], score[row + 1][t]) - penalty;
            score[row + 1][t + 1] = max(aligned, gap);
        }
        __syncthreads();
    }

    for (int row = 0; row < TILE; row++)
        table[corner + (row + 1) * width + t + 1] = score[row + 1][t + 1];
}

// The growing half: anti-diagonal `diagonal` (from 0) has diagonal + 1 tiles.
extern "C" __global__ void needle_cuda_shared_1(const int *similarity, int *table, int width, int penalty, int diagonal)
{
    fill_tile(similarity, table, width, penalty, diagonal - blockIdx.x, blockIdx.x);
}

// The shrinking half: the anti-diagonal whose first tile lies in the last tile row, at column `first_col`.
extern "C" __global__ void needle_cuda_shared_2(const int *similarity, int *table, int width, int penalty, int tiles,
                                                int first_col)
{
    fill_tile(similarity, table, width, penalty, tiles - 1 - blockIdx.x, first_col + blockIdx.x);
}
