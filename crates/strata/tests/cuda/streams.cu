// Streams, events, pinned memory, callbacks, stream-ordered allocation, graphs by capture.
#include "check.h"

__global__ void increment(int *data, int by) { data[blockIdx.x * blockDim.x + threadIdx.x] += by; }

static int called = 0;
static void CUDART_CB note(void *data) { called += *(int *)data; }

int main() {
    const int n = 1 << 12, parts = 4;
    int *host, *mapped, *seen, *device;
    CUDA(cudaMallocHost(&host, n * sizeof(int)));
    CUDA(cudaHostAlloc(&mapped, 64 * sizeof(int), cudaHostAllocMapped));
    CUDA(cudaMalloc(&device, n * sizeof(int)));
    for (int i = 0; i < n; ++i) host[i] = i;
    cudaStream_t streams[parts];
    for (auto &stream : streams) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t start, stop, ordered;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaEventCreateWithFlags(&ordered, cudaEventDisableTiming));
    CUDA(cudaEventRecord(start));
    for (int p = 0; p < parts; ++p) {
        int at = p * (n / parts), size = n / parts * sizeof(int);
        CUDA(cudaMemcpyAsync(device + at, host + at, size, cudaMemcpyHostToDevice, streams[p]));
        increment<<<n / parts / 128, 128, 0, streams[p]>>>(device + at, 1000);
        CUDA(cudaMemcpyAsync(host + at, device + at, size, cudaMemcpyDeviceToHost, streams[p]));
    }
    CUDA(cudaEventRecord(ordered, streams[0]));
    CUDA(cudaStreamWaitEvent(streams[1], ordered, 0));
    int by = 5;
    CUDA(cudaLaunchHostFunc(streams[1], note, &by));
    for (auto stream : streams) CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaEventRecord(stop));
    CUDA(cudaEventSynchronize(stop));
    float milliseconds = -1;
    CUDA(cudaEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds > 0 && milliseconds < 60000 && called == 5);
    EXPECT(cudaEventElapsedTime(&milliseconds, ordered, stop) == cudaErrorInvalidResourceHandle);
    EXPECT(cudaStreamQuery(streams[0]) == cudaSuccess && cudaEventQuery(stop) == cudaSuccess);
    for (int i = 0; i < n; ++i) EXPECT(host[i] == i + 1000);

    // Pinned memory, as the device sees it.
    for (int i = 0; i < 64; ++i) mapped[i] = i;
    CUDA(cudaHostGetDevicePointer(&seen, mapped, 0));
    increment<<<1, 64>>>(seen, 7);
    CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 64; ++i) EXPECT(mapped[i] == i + 7);
    cudaPointerAttributes attributes;
    CUDA(cudaPointerGetAttributes(&attributes, mapped));
    EXPECT(attributes.type == cudaMemoryTypeHost && attributes.devicePointer == seen);
    CUDA(cudaPointerGetAttributes(&attributes, device));
    EXPECT(attributes.type == cudaMemoryTypeDevice);

    // A graph of two streams, done three times.
    int *pool;
    CUDA(cudaMallocAsync(&pool, n * sizeof(int), streams[0]));
    CUDA(cudaMemsetAsync(pool, 0, n * sizeof(int), streams[0]));
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CUDA(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
    increment<<<n / 128, 128, 0, streams[0]>>>(pool, 1);
    CUDA(cudaEventRecord(ordered, streams[0]));
    CUDA(cudaStreamWaitEvent(streams[1], ordered, 0));
    increment<<<n / 128, 128, 0, streams[1]>>>(pool, 10);
    CUDA(cudaMemcpyAsync(host, pool, n * sizeof(int), cudaMemcpyDeviceToHost, streams[1]));
    CUDA(cudaEventRecord(ordered, streams[1]));
    CUDA(cudaStreamWaitEvent(streams[0], ordered, 0));
    CUDA(cudaStreamEndCapture(streams[0], &graph));
    EXPECT(host[0] == 1000);
    CUDA(cudaGraphInstantiate(&executable, graph, 0));
    for (int round = 0; round < 3; ++round) CUDA(cudaGraphLaunch(executable, streams[2]));
    CUDA(cudaStreamSynchronize(streams[2]));
    for (int i = 0; i < n; ++i) EXPECT(host[i] == 33);
    CUDA(cudaGraphExecDestroy(executable));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaFreeAsync(pool, streams[0]));

    for (auto stream : streams) CUDA(cudaStreamDestroy(stream));
    EXPECT(cudaStreamSynchronize(streams[0]) == cudaErrorInvalidResourceHandle);
    CUDA(cudaEventDestroy(start));
    CUDA(cudaFreeHost(host));
    CUDA(cudaFreeHost(mapped));
    std::printf("streams: all is right\n");
    return 0;
}
