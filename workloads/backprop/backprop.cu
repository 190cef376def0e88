// One training step of a network with one hidden layer of 16 units: the two kernels between the input layer and the
// hidden layer. Weights are stored input by input, 17 floats each: the bias column (unused here) and the 16 hidden
// units; row 0 holds the bias of the hidden units.

#define HIDDEN 16
#define STRIDE (HIDDEN + 1)
#define INPUTS_PER_BLOCK 16
#define LEARNING_RATE 0.3f
#define MOMENTUM 0.3f

// Each block sums the contributions of 16 inputs to the 16 hidden units by a tree over the inputs. The weighted inputs
// and their partial sums are left in `weights`: the published program does so, and its host copies the weights in again
// before the update.
extern "C" __global__ void layerforward(const float *inputs, float *weights, float *partial_sums)
{
    const int unit = threadIdx.x;
    const int lane = threadIdx.y;
    const int input = blockIdx.y * INPUTS_PER_BLOCK + lane + 1;
    const int weight = input * STRIDE + unit + 1;

    __shared__ float values[INPUTS_PER_BLOCK];
    __shared__ float products[INPUTS_PER_BLOCK][HIDDEN];

    if (unit == 0)
        values[lane] = inputs[input];
    __syncthreads();
    products[lane][unit] = weights[weight] * values[lane];
    __syncthreads();

    for (int width = INPUTS_PER_BLOCK / 2; width > 0; width /= 2) {
        if (lane < width)
            products[lane][unit] += products[lane + width][unit];
        __syncthreads();
    }

    weights[weight] = products[lane][unit];
    // Every warp writes the two sums of its own rows, as in the published program: eight accesses of a block, not one.
    if (unit == 0)
        partial_sums[blockIdx.y * HIDDEN + lane] = products[0][lane];
}

// Gradient descent with momentum: `changes` holds the previous change of every weight.
extern "C" __global__ void adjust_weights(const float *deltas, const float *inputs, float *weights, float *changes)
{
    const int unit = threadIdx.x;
    const int input = blockIdx.y * INPUTS_PER_BLOCK + threadIdx.y + 1;
    const int weight = input * STRIDE + unit + 1;

    const float change = LEARNING_RATE * deltas[unit + 1] * inputs[input] + MOMENTUM * changes[weight];
    weights[weight] += change;
    changes[weight] = change;

    if (blockIdx.y == 0 && threadIdx.y == 0) {
        const float bias_change = LEARNING_RATE * deltas[unit + 1] + MOMENTUM * changes[unit + 1];
        weights[unit + 1] += bias_change;
        changes[unit + 1] = bias_change;
    }
}
