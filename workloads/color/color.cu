// Colouring of a graph by extremes: in every round the uncoloured nodes whose value is larger than those of all their
// uncoloured neighbours take one new colour, and those whose value is smaller take another. One node per thread; the
// links of node i are edges[first_edge[i] .. first_edge[i + 1]].

#define UNCOLOURED -1

// Values are small and repeat. Of two equal ones that of the later node counts as larger: seen from a node, a neighbour has
// twice its value, and one more if it is the later of the two. The node itself has twice its own.

// The extremes among the uncoloured neighbours of every uncoloured node, as the node sees them; `again` tells the host that
// there is one.
extern "C" __global__ void color_extremes(const int *__restrict__ first_edge, const int *__restrict__ edges,
                                          const int *__restrict__ value, const int *__restrict__ colour,
                                          int *largest, int *smallest, int *again, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || colour[node] != UNCOLOURED)
        return;
    *again = 1;
    int most = -1;
    int least = 0x7fffffff;
    const int end = first_edge[node + 1];
    for (int edge = first_edge[node]; edge < end; edge++) {
        const int neighbour = edges[edge];
        if (colour[neighbour] == UNCOLOURED) {
            const int seen = 2 * value[neighbour] + (neighbour > node);
            most = max(most, seen);
            least = min(least, seen);
        }
    }
    largest[node] = most;
    smallest[node] = least;
}

// A node without uncoloured neighbours is both extremes and takes the first colour.
extern "C" __global__ void color_assign(const int *__restrict__ value, const int *__restrict__ largest,
                                        const int *__restrict__ smallest, int *colour, int first_colour, int nodes)
{
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || colour[node] != UNCOLOURED)
        return;
    if (2 * value[node] >= largest[node])
        colour[node] = first_colour;
    else if (2 * value[node] < smallest[node])
        colour[node] = first_colour + 1;
}
