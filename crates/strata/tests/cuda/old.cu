// What old programs do and newer ones do not: `old` calls what CUDA 13 has removed and adds a kernel to a graph by the call for
// all kinds of nodes, `old crash` ends before its first CUDA call, `old past` reads past the end of an allocation, `old race`
// forgets a barrier.
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void add(int *out, int n) { out[threadIdx.x] += n; }

__global__ void sum(const int *in, int *out, int n) {
    int total = 0;
    for (int k = 0; k < n; k++) total += in[k];
    out[threadIdx.x] = total;
}

__global__ void reverse(int *out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = out[threadIdx.x] + threadIdx.x + 1;
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!std::strcmp(what, "crash")) std::abort();
    int *out, *in, host[64];
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&in, 16 * sizeof(int));
    cudaMemset(out, 0, sizeof host);
    cudaMemset(in, 1, 16 * sizeof(int));
    if (!std::strcmp(what, "past")) {
        sum<<<1, 64>>>(in, out, 18);
    } else if (!std::strcmp(what, "race")) {
        reverse<<<1, 64>>>(out);
    } else {
        add<<<1, 64>>>(out, 1);
        cudaGraph_t graph;
        cudaGraphExec_t executable;
        cudaGraphNode_t node;
        int n = 41;
        void *arguments[] = {&out, &n};
        cudaGraphNodeParams params = {cudaGraphNodeTypeKernel};
        params.kernel.func = (void *)add;
        params.kernel.gridDim = dim3(1);
        params.kernel.blockDim = dim3(64);
        params.kernel.kernelParams = arguments;
        cudaGraphCreate(&graph, 0);
        cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params);
        cudaGraphInstantiate(&executable, graph, 0);
        cudaGraphLaunch(executable, 0);
    }
    cudaError_t error = cudaThreadSynchronize();
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("%s %d\n", cudaGetErrorName(error), host[63]);
    return error;
}
