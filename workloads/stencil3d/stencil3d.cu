// One step of the seven-point stencil on a box of cells: a cell moves towards the mean of its six neighbours; cells of the
// rim stay. A block has a tile of 64x4 columns, two columns to a thread, and marches through the planes: the plane it is in
// lies in shared memory, of the planes below and above a thread keeps its own cells in registers.

#define WIDTH 32
#define HEIGHT 4

extern "C" __global__ void block2D_hybrid_coarsen_x(const float *in, float *out, int nx, int ny, int nz, float rate)
{
    __shared__ float tile[HEIGHT][2 * WIDTH];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int y = blockIdx.y * HEIGHT + ty;
    const int plane = nx * ny;
    float below[2], here[2];
    int x[2], cell[2];
    bool exists[2], inside[2];

    for (int k = 0; k < 2; k++) {
        x[k] = blockIdx.x * 2 * WIDTH + k * WIDTH + tx;
        cell[k] = y * nx + x[k];
        exists[k] = x[k] < nx && y < ny;
        inside[k] = x[k] > 0 && x[k] < nx - 1 && y > 0 && y < ny - 1;
        below[k] = exists[k] ? in[cell[k]] : 0.0f;
        here[k] = exists[k] ? in[cell[k] + plane] : 0.0f;
        if (exists[k])
            out[cell[k]] = below[k];
    }

    for (int z = 1; z < nz - 1; z++) {
        for (int k = 0; k < 2; k++)
            tile[ty][k * WIDTH + tx] = here[k];
        __syncthreads();
        for (int k = 0; k < 2; k++) {
            const int at = k * WIDTH + tx;
            const int c = cell[k] + z * plane;
            const float above = exists[k] ? in[c + plane] : 0.0f;
            float next = here[k];
            if (inside[k]) {
                const float west = at > 0 ? tile[ty][at - 1] : in[c - 1];
                const float east = at < 2 * WIDTH - 1 ? tile[ty][at + 1] : in[c + 1];
                const float north = ty > 0 ? tile[ty - 1][at] : in[c - nx];
                const float south = ty < HEIGHT - 1 ? tile[ty + 1][at] : in[c + nx];
                next += rate * (west + east + north + south + below[k] + above - 6.0f * here[k]);
            }
            if (exists[k])
                out[c] = next;
            below[k] = here[k];
            here[k] = above;
        }
        __syncthreads();
    }

    for (int k = 0; k < 2; k++)
        if (exists[k])
            out[cell[k] + (nz - 1) * plane] = here[k];
}
