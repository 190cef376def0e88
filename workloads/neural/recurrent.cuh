// Words as vectors, and the cells of a long short-term memory. The four gates of a row stand one behind the other: input,
// candidate, forget, output, `units` values each.

extern "C" __global__ void embed_forward(const float *table, const int *words, float *output, int width, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) output[i] = table[words[i / width] * width + i % width];
}

// The gradient of the table: each word's row is the sum over the rows where it stands, listed in
// rows[starts[word]..starts[word + 1]].
extern "C" __global__ void embed_backward(
    const float *output_diff, const int *starts, const int *rows, float *table_diff, int width, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int word = i / width, column = i % width;
    float sum = 0.0f;
    for (int at = starts[word]; at < starts[word + 1]; at++) sum += output_diff[rows[at] * width + column];
    table_diff[i] = sum;
}

__device__ __forceinline__ float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float hyperbolic_tangent(float x) { return 2.0f * logistic(2.0f * x) - 1.0f; }

// Turns the sums that reach the gates into the gates' values, in place, and makes the new cells and their outputs.
extern "C" __global__ void lstm_forward(
    float *gates, const float *bias, const float *old_cells, float *cells, float *outputs, int units, int total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int unit = i % units;
    float *gate = gates + i / units * 4 * units + unit;
    const float input = logistic(gate[0] + bias[unit]);
    const float candidate = hyperbolic_tangent(gate[units] + bias[units + unit]);
    const float forget = logistic(gate[2 * units] + bias[2 * units + unit]);
    const float output = logistic(gate[3 * units] + bias[3 * units + unit]);
    const float cell = forget * old_cells[i] + input * candidate;
    gate[0] = input;
    gate[units] = candidate;
    gate[2 * units] = forget;
    gate[3 * units] = output;
    cells[i] = cell;
    outputs[i] = output * hyperbolic_tangent(cell);
}

// From the gradient of a step's outputs and what the later step passes back through its cells (cell_diff, in place) to
// the gradient of the sums that reach the gates. Behind the last step there is nothing.
extern "C" __global__ void lstm_backward(
    const float *gates, const float *old_cells, const float *cells, const float *output_diff, float *cell_diff,
    float *gate_diff, int units, int total, int last) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    const int place = i / units * 4 * units + i % units;
    const float input = gates[place], candidate = gates[place + units];
    const float forget = gates[place + 2 * units], output = gates[place + 3 * units];
    const float squashed = hyperbolic_tangent(cells[i]);
    const float diff = (last ? 0.0f : cell_diff[i]) + output_diff[i] * output * (1.0f - squashed * squashed);
    gate_diff[place] = diff * candidate * input * (1.0f - input);
    gate_diff[place + units] = diff * input * (1.0f - candidate * candidate);
    gate_diff[place + 2 * units] = diff * old_cells[i] * forget * (1.0f - forget);
    gate_diff[place + 3 * units] = output_diff[i] * squashed * output * (1.0f - output);
    cell_diff[i] = diff * forget;
}
