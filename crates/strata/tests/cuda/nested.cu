// Kernels that launch kernels, and graphs whose nodes depend on what kernels say.
#include "check.h"
#include <cstring>

__global__ void leaf(int *sums, int at, int value) { atomicAdd(sums + at, value + threadIdx.x); }

// Each level launches two of the next.
__global__ void tree(int *sums, int depth, int at) {
    if (threadIdx.x != 0) return;
    if (depth == 0) {
        leaf<<<2, 4>>>(sums, at % 8, at);
        return;
    }
    for (int k = 0; k < 2; ++k) tree<<<1, 32>>>(sums, depth - 1, 2 * at + k);
}

struct Three {
    char a;
    double b;
    short c;
};

__global__ void first(int *order, Three three) {
    order[0] = *order + 1;
    if (three.a != 'x' || three.b != 2.5 || three.c != -7) order[0] = -1000;
}
__global__ void last(int *order) { order[1] = order[0] * 10; }

// What comes last is launched first; a copy comes between two launches of a stream of the kernel's own.
__global__ void orders(int *order) {
    last<<<1, 1, 0, cudaStreamTailLaunch>>>(order);
    cudaStream_t stream;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) return;
    first<<<1, 1, 0, stream>>>(order, Three{'x', 2.5, -7});
    cudaMemcpyAsync(order + 2, order, sizeof(int), cudaMemcpyDeviceToDevice, stream);
    first<<<1, 1, 0, stream>>>(order, Three{'x', 2.5, -7});
    cudaStreamDestroy(stream);
    int *more;
    if (cudaMalloc(&more, 64) != cudaSuccess) return;
    more[15] = order[0];
    order[3] = more[15];
    cudaFree(more);
}

static void launches() {
    int sums[8], expected[8] = {}, order[4] = {}, *data;
    CUDA(cudaMalloc(&data, sizeof sums));
    CUDA(cudaMemset(data, 0, sizeof sums));
    tree<<<1, 32>>>(data, 4, 1);
    CUDA(cudaMemcpy(sums, data, sizeof sums, cudaMemcpyDeviceToHost));
    for (int at = 16; at < 32; ++at) expected[at % 8] += 2 * (4 * at + 6);
    EXPECT(std::memcmp(sums, expected, sizeof sums) == 0);
    CUDA(cudaMemcpy(data, order, sizeof order, cudaMemcpyHostToDevice));
    orders<<<1, 1>>>(data);
    CUDA(cudaMemcpy(order, data, sizeof order, cudaMemcpyDeviceToHost));
    EXPECT(order[0] == 2 && order[1] == 20 && order[2] == 1 && order[3] == 0);
}

__global__ void count(int *rounds, cudaGraphConditionalHandle handle, int until) {
    cudaGraphSetConditional(handle, ++*rounds < until);
}
__global__ void choose(int *rounds, cudaGraphConditionalHandle handle) { cudaGraphSetConditional(handle, *rounds % 3); }
__global__ void add(int *rounds, int value) { *rounds += value; }

static cudaGraph_t *conditional(cudaGraph_t graph, cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType how, int bodies) {
    cudaGraphNode_t node;
    cudaGraphNodeParams params = {};
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle, params.conditional.type = how, params.conditional.size = bodies;
    CUDA(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
    return params.conditional.phGraph_out;
}

static void capture(cudaStream_t stream, cudaGraph_t into) {
    CUDA(cudaStreamBeginCaptureToGraph(stream, into, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
}

static void conditions() {
    int rounds = 0, *data;
    CUDA(cudaMalloc(&data, sizeof(int)));
    cudaStream_t stream;
    CUDA(cudaStreamCreate(&stream));
    cudaGraph_t graph, body, captured;
    CUDA(cudaGraphCreate(&graph, 0));
    // As long as the count is below 5, then one of three numbers more.
    cudaGraphConditionalHandle again, which;
    CUDA(cudaGraphConditionalHandleCreate(&again, graph, 1, cudaGraphCondAssignDefault));
    CUDA(cudaGraphConditionalHandleCreate(&which, graph, 0, 0));
    body = conditional(graph, again, cudaGraphCondTypeWhile, 1)[0];
    capture(stream, body);
    count<<<1, 1, 0, stream>>>(data, again, 5);
    choose<<<1, 1, 0, stream>>>(data, which);
    CUDA(cudaStreamEndCapture(stream, &captured));
    cudaGraph_t *bodies = conditional(graph, which, cudaGraphCondTypeSwitch, 3);
    for (int k = 0; k < 3; ++k) {
        capture(stream, bodies[k]);
        add<<<1, 1, 0, stream>>>(data, 100 * (k + 1));
        CUDA(cudaStreamEndCapture(stream, nullptr));
    }
    cudaGraphExec_t executable;
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int launch = 0; launch < 2; ++launch) {
        CUDA(cudaMemset(data, 0, sizeof(int)));
        CUDA(cudaGraphLaunch(executable, stream));
        CUDA(cudaMemcpy(&rounds, data, sizeof(int), cudaMemcpyDeviceToHost));
        EXPECT(rounds == 305);
    }
}

int main() {
    launches();
    conditions();
    std::printf("nested: all is right\n");
}
