// PageRank by power iteration: every node sends equal shares of its rank along its edges. One node per thread, edges in
// compressed rows: the edges of node i are edges[first_edge[i] .. first_edge[i + 1]].

// Rank sent, gathered by addition in memory: the order of the additions is that of the machine.
extern "C" __global__ void pagerank_scatter(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                            const float *__restrict__ rank, float *received, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    const int begin = first_edge[node];
    const int end = first_edge[node + 1];
    if (begin == end)
        return;
    const float share = rank[node] / (float)(end - begin);
    for (int edge = begin; edge < end; edge++)
        atomicAdd(&received[edges[edge]], share);
}

// New rank from what was received, and an empty box for the next iteration.
extern "C" __global__ void pagerank_update(float *rank, float *received, int nodes, float damping)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    rank[node] = (1.0f - damping) / (float)nodes + damping * received[node];
    received[node] = 0.0f;
}
