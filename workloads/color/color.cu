// Colouring of a graph by extremes: in every round the uncoloured nodes whose value is larger than those of all their
// uncoloured neighbours take one new colour, and those whose value is smaller take another. One node per thread; the
// links of node i are edges[first_edge[i] .. first_edge[i + 1]].

#define UNCOLOURED -1

// The extremes among the uncoloured neighbours of every uncoloured node; `again` tells the host that there is one.
// Values lie in [0, 1).
extern "C" __global__ void color_extremes(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                          const float *__restrict__ value, const int *__restrict__ colour,
                                          float *largest, float *smallest, int *again, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || colour[node] != UNCOLOURED)
        return;
    *again = 1;
    float most = -1.0f;
    float least = 2.0f;
    const int end = first_edge[node + 1];
    for (int edge = first_edge[node]; edge < end; edge++) {
        const int neighbour = edges[edge];
        if (colour[neighbour] == UNCOLOURED) {
            most = fmaxf(most, value[neighbour]);
            least = fminf(least, value[neighbour]);
        }
    }
    largest[node] = most;
    smallest[node] = least;
}

// A node without uncoloured neighbours is both extremes and takes the first colour.
extern "C" __global__ void color_assign(const float *__restrict__ value, const float *__restrict__ largest,
                                        const float *__restrict__ smallest, int *colour, int first_colour, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || colour[node] != UNCOLOURED)
        return;
    if (value[node] > largest[node])
        colour[node] = first_colour;
    else if (value[node] < smallest[node])
        colour[node] = first_colour + 1;
}
