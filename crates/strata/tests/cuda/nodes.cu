// Graphs built node by node, and memory of the program's own that the device gets to see.
#include "check.h"
#include <vector>

__global__ void add(const int *a, int *b, int n, int more) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] += a[i] + more;
}

static void CUDART_CB note(void *count) { ++*(int *)count; }

static void graph() {
    const int n = 300;
    std::vector<int> in(n), out(n, -1);
    for (int i = 0; i < n; ++i) in[i] = i;
    int *a, *b, more = 5, calls = 0, size = n;
    CUDA(cudaMalloc(&a, n * sizeof(int)));
    CUDA(cudaMalloc(&b, n * sizeof(int)));
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t copy, set, kernel, back, host;
    cudaMemsetParams zeros = {};
    zeros.dst = b, zeros.value = 0x01000001, zeros.elementSize = 4, zeros.width = n, zeros.height = 1;
    CUDA(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, a, in.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &zeros));
    void *arguments[] = {&a, &b, &size, &more};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add, launch.gridDim = dim3(3), launch.blockDim = dim3(128), launch.kernelParams = arguments;
    cudaGraphNode_t before[] = {copy, set};
    CUDA(cudaGraphAddKernelNode(&kernel, graph, before, 2, &launch));
    CUDA(cudaGraphAddMemcpyNode1D(&back, graph, &kernel, 1, out.data(), b, n * sizeof(int), cudaMemcpyDeviceToHost));
    cudaHostNodeParams call = {};
    call.fn = note, call.userData = &calls;
    CUDA(cudaGraphAddHostNode(&host, graph, &back, 1, &call));
    // The values count that the arguments had when the node was added.
    more = 100;
    size_t nodes;
    CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 5);
    cudaGraphExec_t executable;
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int round = 0; round < 2; ++round) CUDA(cudaGraphLaunch(executable, 0));
    CUDA(cudaDeviceSynchronize());
    EXPECT(calls == 2);
    for (int i = 0; i < n; ++i) EXPECT(out[i] == 0x01000001 + i + 5);

    // Other parameters: in the executable graph alone, then in the graph it was made of.
    zeros.value = 0;
    CUDA(cudaGraphExecKernelNodeSetParams(executable, kernel, &launch));
    CUDA(cudaGraphExecMemsetNodeSetParams(executable, set, &zeros));
    EXPECT(cudaGraphExecMemsetNodeSetParams(executable, kernel, &zeros) == cudaErrorInvalidValue);
    CUDA(cudaGraphLaunch(executable, 0));
    for (int i = 0; i < n; ++i) EXPECT(out[i] == i + 100);
    more = 1000;
    CUDA(cudaGraphKernelNodeSetParams(kernel, &launch));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    CUDA(cudaGraphLaunch(executable, 0));
    for (int i = 0; i < n; ++i) EXPECT(out[i] == 0x01000001 + i + 1000);
    cudaGraphNode_t all[5];
    cudaGraphNodeType type;
    CUDA(cudaGraphGetNodes(graph, all, &nodes));
    EXPECT(nodes == 5 && all[0] == copy && all[2] == kernel && all[4] == host);
    CUDA(cudaGraphNodeGetType(all[2], &type));
    EXPECT(type == cudaGraphNodeTypeKernel);
}

// Memory that belongs to a graph: by a node, and by a capture. Each launch has it at the same address.
static void graph_memory() {
    const int n = 100;
    int *ones, out[n], size = n, more = 0;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CUDA(cudaGraphCreate(&graph, 0));
    cudaMemAllocNodeParams memory = {};
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location = {cudaMemLocationTypeDevice, 0};
    memory.bytesize = n * sizeof(int);
    CUDA(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &memory));
    EXPECT(memory.dptr != nullptr);
    CUDA(cudaMalloc(&ones, n * sizeof(int)));
    CUDA(cudaMemset(ones, 1, n * sizeof(int)));
    cudaMemsetParams zeros = {};
    zeros.dst = memory.dptr, zeros.elementSize = 1, zeros.width = n * sizeof(int), zeros.height = 1;
    CUDA(cudaGraphAddMemsetNode(&node, graph, &node, 1, &zeros));
    void *arguments[] = {&ones, &memory.dptr, &size, &more};
    cudaKernelNodeParams launch = {};
    launch.func = (void *)add, launch.gridDim = dim3(1), launch.blockDim = dim3(128), launch.kernelParams = arguments;
    CUDA(cudaGraphAddKernelNode(&node, graph, &node, 1, &launch));
    CUDA(cudaGraphAddMemcpyNode1D(&node, graph, &node, 1, out, memory.dptr, sizeof out, cudaMemcpyDeviceToHost));
    CUDA(cudaGraphAddMemFreeNode(&node, graph, &node, 1, memory.dptr));
    cudaGraphExec_t executable;
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int round = 0; round < 2; ++round) CUDA(cudaGraphLaunch(executable, 0));
    CUDA(cudaDeviceSynchronize());
    EXPECT(out[0] == 0x01010101 && out[n - 1] == 0x01010101);

    cudaStream_t stream;
    cudaEvent_t event;
    int *sums;
    CUDA(cudaStreamCreate(&stream));
    CUDA(cudaEventCreate(&event));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMallocAsync(&sums, n * sizeof(int), stream));
    CUDA(cudaMemsetAsync(sums, 0, n * sizeof(int), stream));
    add<<<1, 128, 0, stream>>>(ones, sums, n, 1);
    CUDA(cudaMemcpyAsync(out, sums, sizeof out, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaFreeAsync(sums, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    // In a capture an event only orders: the graph does without it.
    CUDA(cudaEventDestroy(event));
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int round = 0; round < 2; ++round) CUDA(cudaGraphLaunch(executable, stream));
    CUDA(cudaStreamSynchronize(stream));
    EXPECT(out[0] == 0x01010102 && out[n - 1] == 0x01010102);
}

static void registered() {
    const int n = 5000;
    std::vector<int> a(n), b(n, 7);
    for (int i = 0; i < n; ++i) a[i] = 3 * i;
    CUDA(cudaHostRegister(a.data(), n * sizeof(int), cudaHostRegisterMapped));
    CUDA(cudaHostRegister(b.data(), n * sizeof(int), cudaHostRegisterMapped));
    int *on_a, *on_b;
    CUDA(cudaHostGetDevicePointer((void **)&on_a, a.data(), 0));
    CUDA(cudaHostGetDevicePointer((void **)&on_b, b.data(), 0));
    a[1] = 1000;
    add<<<(n + 127) / 128, 128>>>(on_a, on_b, n, 1);
    CUDA(cudaDeviceSynchronize());
    EXPECT(b[0] == 8 && b[1] == 1008 && b[n - 1] == 3 * (n - 1) + 8);
    CUDA(cudaHostUnregister(a.data()));
    CUDA(cudaHostUnregister(b.data()));
    EXPECT(b[0] == 8 && b[n - 1] == 3 * (n - 1) + 8 && a[2] == 6);
}

int main() {
    graph();
    graph_memory();
    registered();
    std::puts("nodes: all is right");
    return 0;
}
