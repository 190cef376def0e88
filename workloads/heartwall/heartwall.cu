// Tracking of points on the walls of a beating heart: in every frame, each point's template is looked for around the point's
// last place, by normalised cross-correlation. One block per point. Every step between the picture and the best place leaves its
// result in a global array, as in Rodinia's program.

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

// Sums of the area over all windows of the template's size that meet it, or of its squares: down the columns of the area with `side`
// zeros around it, differences of rows that are `side` apart, along those rows, and differences again.
static __device__ void window_sums(const float *area, int across, int side, bool squared, float *down, float *along, float *sums)
{
    const int padded = across + 2 * side, windows = across + side - 1;
    for (int column = threadIdx.x; column < padded; column += BLOCK) {
        float sum = 0.0f;
#pragma unroll 1
        for (int row = 0; row < padded; row++) {
            const int r = row - side, c = column - side;
            if (r >= 0 && r < across && c >= 0 && c < across) {
                const float value = area[r * across + c];
                sum += squared ? value * value : value;
            }
            down[row * padded + column] = sum;
        }
    }
    __syncthreads();
    for (int row = threadIdx.x; row < windows; row += BLOCK) {
        float sum = 0.0f;
#pragma unroll 1
        for (int column = 0; column < padded; column++) {
            sum += down[(row + side) * padded + column] - down[row * padded + column];
            along[row * padded + column] = sum;
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < windows * windows; k += BLOCK) {
        const float *end = along + k / windows * padded + k % windows;
        sums[k] = end[side] - end[0];
    }
    __syncthreads();
}

// Moves each point to where its template fits best, at most `reach` pixels away in either direction; of equal fits the first
// is taken. With `blend`, the template becomes a mixture of itself and what was found.
extern "C" __global__ void track(const float *frame, int columns, int *places, float *templates, float *areas, float *turned,
                                 float *convolved, float *down, float *along, float *sums, float *squares, float *fits,
                                 int radius, int reach, float blend)
{
    __shared__ float parts[BLOCK];
    __shared__ int candidates[BLOCK];
    const int side = 2 * radius + 1, elements = side * side, span = 2 * reach + 1;
    const int across = side + 2 * reach, padded = across + 2 * side, windows = across + side - 1;
    const int point = blockIdx.x, row = places[2 * point], column = places[2 * point + 1];
    float *own = templates + (size_t)point * elements;
    areas += (size_t)point * across * across;
    turned += (size_t)point * elements;
    convolved += (size_t)point * windows * windows;
    down += (size_t)point * padded * padded;
    along += (size_t)point * windows * padded;
    sums += (size_t)point * windows * windows;
    squares += (size_t)point * windows * windows;

    float sum = 0.0f, own_squares = 0.0f;
    for (int i = threadIdx.x; i < elements; i += BLOCK) {
        sum += own[i];
        own_squares += own[i] * own[i];
    }
    const float mean = sum_over_block(sum, parts) / elements;
    const float spread = sum_over_block(own_squares, parts) - elements * mean * mean;

    const float *corner = frame + (size_t)(row - reach - radius) * columns + column - reach - radius;
    for (int i = threadIdx.x; i < across * across; i += BLOCK)
        areas[i] = corner[(size_t)(i / across) * columns + i % across];
    for (int i = threadIdx.x; i < elements; i += BLOCK)
        turned[i] = own[elements - 1 - i] - mean;
    __syncthreads();

    for (int k = threadIdx.x; k < windows * windows; k += BLOCK) {
        const int bottom = k / windows, right = k % windows;
        // Rows and columns of the template that meet the area.
        const int first_row = max(0, bottom - across + 1), last_row = min(side - 1, bottom);
        const int first_column = max(0, right - across + 1), last_column = min(side - 1, right);
        float product = 0.0f;
        for (int r = first_row; r <= last_row; r++) {
            const float *weight = turned + r * side + first_column, *value = areas + (bottom - r) * across + right - first_column;
#pragma unroll 1
            for (int c = first_column; c <= last_column; c++)
                product += *weight++ * *value--;
        }
        convolved[k] = product;
    }
    window_sums(areas, across, side, false, down, along, sums);
    window_sums(areas, across, side, true, down, along, squares);
    for (int k = threadIdx.x; k < windows * windows; k += BLOCK) {
        const float window_spread = squares[k] - sums[k] * sums[k] / elements;
        convolved[k] *= rsqrtf(fmaxf(window_spread * spread, 1e-6f));
    }
    __syncthreads();

    // Windows that lie in the area.
    float best = -2.0f;
    int found = 0;
    for (int k = threadIdx.x; k < span * span; k += BLOCK) {
        const float fit = convolved[(k / span + side - 1) * windows + k % span + side - 1];
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
        for (int i = threadIdx.x; i < elements; i += BLOCK) {
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
