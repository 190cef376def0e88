// A maximal independent set by Luby's rounds: an open node whose value is smaller than those of all its open neighbours
// joins the set, and its neighbours leave. One node per thread; the links of node i are
// edges[first_edge[i] .. first_edge[i + 1]].

#define OPEN -1
#define CLOSED -2
#define IN_SET 2

extern "C" __global__ void mis_init(int *set, int *state, int *next_state, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes)
        return;
    set[node] = 0;
    state[node] = OPEN;
    next_state[node] = OPEN;
}

// The smallest value among the open neighbours of every open node; `again` tells the host that there is one.
extern "C" __global__ void mis_smallest(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                        const float *__restrict__ value, const int *__restrict__ state,
                                        float *smallest, int *again, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || state[node] != OPEN)
        return;
    *again = 1;
    float least = 2.0f;
    const int end = first_edge[node + 1];
    for (int edge = first_edge[node]; edge < end; edge++) {
        const int neighbour = edges[edge];
        if (state[neighbour] == OPEN)
            least = fminf(least, value[neighbour]);
    }
    smallest[node] = least;
}

// Nodes join the set; they and their neighbours are closed after this round. Several may close the same neighbour: all
// write the same value.
extern "C" __global__ void mis_join(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                    const float *__restrict__ value, const float *__restrict__ smallest,
                                    const int *__restrict__ state, int *set, int *next_state, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || state[node] != OPEN || value[node] >= smallest[node])
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
