// A maximal independent set by Luby's rounds: an open node whose value is smaller than those of all its open neighbours
// joins the set, and its neighbours leave. One node per thread; the links of node i are
// edges[first_edge[i] .. first_edge[i + 1]].

#define OPEN -1
#define CLOSED -2
#define IN_SET 2

// Values are small and repeat. Of two equal ones that of the earlier node counts as smaller: seen from a node, a neighbour
// has twice its value, and one more if it is the later of the two. The node itself has twice its own.

extern "C" __global__ void mis_init(int *set, int *state, int *next_state, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    set[node] = 0;
    state[node] = OPEN;
    next_state[node] = OPEN;
}

// The smallest value among the open neighbours of every open node, as the node sees it; `again` tells the host that there is one.
extern "C" __global__ void mis_smallest(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                        const int *__restrict__ value, const int *__restrict__ state,
                                        int *smallest, int *again, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || state[node] != OPEN)
        return;
    *again = 1;
    int least = 0x7fffffff;
    const int end = first_edge[node + 1];
    for (int edge = first_edge[node]; edge < end; edge++) {
        const int neighbour = edges[edge];
        if (state[neighbour] == OPEN)
            least = min(least, 2 * value[neighbour] + (neighbour > node));
    }
    smallest[node] = least;
}

// Nodes join the set; they and their neighbours are closed after this round. Several may close the same neighbour: all
// write the same value.
extern "C" __global__ void mis_join(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                    const int *__restrict__ value, const int *__restrict__ smallest,
                                    const int *__restrict__ state, int *set, int *next_state, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || state[node] != OPEN || 2 * value[node] >= smallest[node])
        return;
    set[node] = IN_SET;
    next_state[node] = CLOSED;
    const int end = first_edge[node + 1];
    for (int edge = first_edge[node]; edge < end; edge++) {
        const int neighbour = edges[edge];
        if (state[neighbour] == OPEN)
            next_state[neighbour] = CLOSED;
    }
}

extern "C" __global__ void mis_close(int *state, const int *next_state, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node < nodes && next_state[node] == CLOSED)
        state[node] = CLOSED;
}
