// Every thread follows the links of a list from its own first node; each address depends on the load before.

extern "C" __global__ void chase(const int *next, const int *first, int *last, int walkers, int hops)
{
    const int walker = blockIdx.x * blockDim.x + threadIdx.x;
    if (walker >= walkers)
        return;
    int node = first[walker];
    for (int hop = 0; hop < hops; hop++)
        node = next[node];
    last[walker] = node;
}
