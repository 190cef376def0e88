// Finite differences in the time domain: a two-dimensional electromagnetic wave on a staggered grid, one cell per thread.
//
// A time step is three launches: both components of the electric field from the magnetic field, and that from them.

// ey from the rows of hz; the first row of ey is the antenna.
extern "C" __global__ void fdtd_step1(int rows, int cols, const float *antenna, float *ey, const float *hz, int step)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols)
        return;
    const int cell = row * cols + col;
    if (row == 0)
        ey[cell] = antenna[step];
    else
        ey[cell] = ey[cell] - 0.5f * (hz[cell] - hz[cell - cols]);
}

// ex from the columns of hz.
extern "C" __global__ void fdtd_step2(int rows, int cols, float *ex, const float *hz)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col < 1 || col >= cols)
        return;
    const int cell = row * cols + col;
    ex[cell] = ex[cell] - 0.5f * (hz[cell] - hz[cell - 1]);
}

// hz from the rotation of the electric field.
extern "C" __global__ void fdtd_step3(int rows, int cols, const float *ex, const float *ey, float *hz)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows - 1 || col >= cols - 1)
        return;
    const int cell = row * cols + col;
    hz[cell] = hz[cell] - 0.7f * (ex[cell + 1] - ex[cell] + ey[cell + cols] - ey[cell]);
}
