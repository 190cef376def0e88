// Shortest paths from one node by Bellman and Ford's rounds: the product of the matrix of lengths with the vector of
// distances where addition is the minimum and multiplication the addition. One node per thread; the links of node i are
// edges[first_edge[i] .. first_edge[i + 1]], and go both ways.

// Half of the largest integer: a length can be added to it.
#define UNREACHED 0x3fffffff

extern "C" __global__ void sssp_init(int *distance, int *next, int source, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    distance[node] = node == source ? 0 : UNREACHED;
    next[node] = node == source ? 0 : UNREACHED;
}

// One round: the shortest way over at most one more link.
extern "C" __global__ void sssp_relax(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                      const int *__restrict__ lengths, const int *__restrict__ distance, int *next,
                                      int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    int shortest = distance[node];
    const int end = first_edge[node + 1];
    for (int edge = first_edge[node]; edge < end; edge++)
        shortest = min(shortest, distance[edges[edge]] + lengths[edge]);
    next[node] = shortest;
}

// `again` tells the host that a distance changed.
extern "C" __global__ void sssp_compare(const int *distance, const int *next, int *again, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && distance[node] != next[node])
        *again = 1;
}

extern "C" __global__ void sssp_assign(int *distance, const int *next, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes)
        distance[node] = next[node];
}
