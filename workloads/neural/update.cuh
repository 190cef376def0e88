// How weights learn.

// Each thread treats four weights, a block's width apart.
#define WEIGHTS_EACH 4

// Gradient descent with momentum and weight decay. As in Caffe the change replaces the gradient.
extern "C" __global__ void momentum_update(
    float *weights, float *diff, float *history, int total, float rate, float momentum, float decay) {
    int i = blockIdx.x * blockDim.x * WEIGHTS_EACH + threadIdx.x;
#pragma unroll
    for (int turn = 0; turn < WEIGHTS_EACH; turn++, i += blockDim.x) {
        if (i >= total) return;
        const float weight = weights[i];
        const float change = momentum * history[i] + rate * (diff[i] + decay * weight);
        history[i] = change;
        diff[i] = change;
        weights[i] = weight - change;
    }
}

// Adagrad: each weight's rate falls with the squares of its gradients so far.
extern "C" __global__ void adagrad_update(float *weights, const float *diff, float *squares, int total, float rate) {
    int i = blockIdx.x * blockDim.x * WEIGHTS_EACH + threadIdx.x;
#pragma unroll
    for (int turn = 0; turn < WEIGHTS_EACH; turn++, i += blockDim.x) {
        if (i >= total) return;
        const float gradient = diff[i];
        const float sum = squares[i] + gradient * gradient;
        squares[i] = sum;
        weights[i] -= rate * gradient / sqrtf(sum);
    }
}
