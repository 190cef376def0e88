// Breadth-first search, one level per pair of kernels, one node per thread. Masks are bytes: the frontier, the nodes
// that join the next frontier, and the nodes reached so far.

struct Node {
    int first_edge;
    int degree;
};

// Every node of the frontier gives its unvisited neighbours their level. Two nodes may write the same neighbour: both
// write the same value.
extern "C" __global__ void bfs_kernel1(const Node *nodes, const int *edges, unsigned char *frontier,
                                       unsigned char *joining, const unsigned char *visited, int *level, int count)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= count || !frontier[node])
        return;
    frontier[node] = 0;
    const int end = nodes[node].first_edge + nodes[node].degree;
    for (int edge = nodes[node].first_edge; edge < end; edge++) {
        const int neighbour = edges[edge];
        if (!visited[neighbour]) {
            level[neighbour] = level[node] + 1;
            joining[neighbour] = 1;
        }
    }
}

// The joining nodes become the frontier; `again` tells the host that there is one.
extern "C" __global__ void bfs_kernel2(unsigned char *frontier, unsigned char *joining, unsigned char *visited,
                                       int *again, int count)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= count || !joining[node])
        return;
    frontier[node] = 1;
    visited[node] = 1;
    *again = 1;
    joining[node] = 0;
}
