// Softmax and cross entropy, one block per row.

extern "C" __global__ void softmax_loss(
    const float *scores, const int *labels, float *probabilities, float *losses, int classes) {
    const float *row = scores + blockIdx.x * classes;
    float *result = probabilities + blockIdx.x * classes;
    float largest = row[0];
    for (int i = threadIdx.x; i < classes; i += blockDim.x) largest = fmaxf(largest, row[i]);
    largest = block_max(largest);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < classes; i += blockDim.x) {
        const float value = expf(row[i] - largest);
        result[i] = value;
        sum += value;
    }
    sum = block_sum(sum);
    for (int i = threadIdx.x; i < classes; i += blockDim.x) result[i] /= sum;
    if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) - (row[labels[blockIdx.x]] - largest);
}

extern "C" __global__ void softmax_backward(
    const float *probabilities, const int *labels, float *diff, int classes, int total, float weight) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const float target = i % classes == labels[i / classes] ? 1.0f : 0.0f;
    diff[i] = (probabilities[i] - target) * weight;
}
