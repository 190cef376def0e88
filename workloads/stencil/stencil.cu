// One step of the five-point stencil: a cell moves towards the mean of its neighbours; cells of the border stay.

extern "C" __global__ void stencil5(const float *in, float *out, int rows, int cols, float rate)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols)
        return;
    const int cell = row * cols + col;
    const float here = in[cell];
    if (row == 0 || row == rows - 1 || col == 0 || col == cols - 1) {
        out[cell] = here;
        return;
    }
    const float around = in[cell - cols] + in[cell + cols] + in[cell - 1] + in[cell + 1];
    out[cell] = here + rate * (around - 4.0f * here);
}
