// 3x3 convolution with nine different weights; the rim of the image is not written.
//
// The weights are those of an oblique edge detector with a little smoothing: no two are equal, so the compiler can fold
// none of the nine products.

extern "C" __global__ void Convolution2D_kernel(const float *image, float *result, int rows, int cols)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < 1 || row >= rows - 1 || col < 1 || col >= cols - 1)
        return;

    const float *above = image + (row - 1) * cols + col;
    const float *here = image + row * cols + col;
    const float *below = image + (row + 1) * cols + col;
    result[row * cols + col] = -0.7f * above[-1] - 0.35f * above[0] + 0.1f * above[1]
                             - 0.4f * here[-1] + 0.9f * here[0] + 0.45f * here[1]
                             + 0.05f * below[-1] + 0.3f * below[0] + 0.65f * below[1];
}
