// Tracking of points on the walls of a beating heart: in every frame, each point's template is looked for around the point's
// last place, by normalised cross-correlation. One block per point.

#define BLOCK 256

// The sum of a value over the threads of a block, for all of them.
static __device__ float sum_over_block(float value, float *parts)
{
    __syncthreads();
    parts[threadIdx.x] = value;
    for (int width = BLOCK / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width)
            parts[threadIdx.x] += parts[threadIdx.x + width];
    }
    __syncthreads();
    return parts[0];
}

// Cuts the templates out of the first frame.
extern "C" __global__ void take_templates(const float *frame, int columns, const int *places, float *templates, int radius)
{
    const int side = 2 * radius + 1;
    const int row = places[2 * blockIdx.x], column = places[2 * blockIdx.x + 1];
    float *own = templates + (size_t)blockIdx.x * side * side;
    for (int i = threadIdx.x; i < side * side; i += BLOCK)
        own[i] = frame[(size_t)(row - radius + i / side) * columns + column - radius + i % side];
}

// Moves each point to where its template fits best, at most `reach` pixels away in either direction; of equal fits the first
// is taken. With `blend`, the template becomes a mixture of itself and what was found.
extern "C" __global__ void track(const float *frame, int columns, int *places, float *templates, float *fits, int radius,
                                 int reach, float blend)
{
    __shared__ float parts[BLOCK];
    __shared__ int candidates[BLOCK];
    const int side = 2 * radius + 1, area = side * side, span = 2 * reach + 1;
    const int row = places[2 * blockIdx.x], column = places[2 * blockIdx.x + 1];
    float *own = templates + (size_t)blockIdx.x * area;

    float sum = 0.0f, squares = 0.0f;
    for (int i = threadIdx.x; i < area; i += BLOCK) {
        sum += own[i];
        squares += own[i] * own[i];
    }
    const float mean = sum_over_block(sum, parts) / area;
    const float spread = sum_over_block(squares, parts) - area * mean * mean;

    float best = -2.0f;
    int found = 0;
    for (int k = threadIdx.x; k < span * span; k += BLOCK) {
        const float *window = frame + (size_t)(row - reach + k / span - radius) * columns + column - reach + k % span - radius;
        float total = 0.0f, total_squares = 0.0f, product = 0.0f;
        for (int r = 0; r < side; r++) {
#pragma unroll 1
            for (int c = 0; c < side; c++) {
                const float value = window[(size_t)r * columns + c];
                total += value;
                total_squares += value * value;
                product += value * (own[r * side + c] - mean);
            }
        }
        const float window_spread = total_squares - total * total / area;
        const float fit = product * rsqrtf(fmaxf(window_spread * spread, 1e-6f));
        if (fit > best) {
            best = fit;
            found = k;
        }
    }
    __syncthreads();
    parts[threadIdx.x] = best;
    candidates[threadIdx.x] = found;
    for (int width = BLOCK / 2; width > 0; width /= 2) {
        __syncthreads();
        if (threadIdx.x < width) {
            const float other = parts[threadIdx.x + width];
            const int place = candidates[threadIdx.x + width];
            if (other > parts[threadIdx.x] || (other == parts[threadIdx.x] && place < candidates[threadIdx.x])) {
                parts[threadIdx.x] = other;
                candidates[threadIdx.x] = place;
            }
        }
    }
    __syncthreads();
    const int to_row = row - reach + candidates[0] / span, to_column = column - reach + candidates[0] % span;
    if (blend > 0.0f) {
        for (int i = threadIdx.x; i < area; i += BLOCK) {
            const float value = frame[(size_t)(to_row - radius + i / side) * columns + to_column - radius + i % side];
            own[i] = (1.0f - blend) * own[i] + blend * value;
        }
    }
    if (threadIdx.x == 0) {
        places[2 * blockIdx.x] = to_row;
        places[2 * blockIdx.x + 1] = to_column;
        fits[blockIdx.x] = parts[0];
    }
}
