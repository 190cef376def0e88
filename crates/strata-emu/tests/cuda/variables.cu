// Variables of every space, with initialisers.
struct Node {
    const Node *next;
    int value;
};
__device__ int table[4] = {10, 20, 30, 40};
__device__ Node third = {nullptr, 3}, second = {&third, 2}, first = {&second, 1};
__device__ int *into_table = &table[2];
__constant__ float weights[5] = {0.5f, 1.5f, -2.0f};
__constant__ unsigned char bytes[3] = {1, 2, 255};
__managed__ int counter = 5;
__device__ const char *text = "strata";

extern "C" __global__ void read_variables(int *out) {
    int i = threadIdx.x;
    const Node *n = &first;
    for (int k = 0; k < i % 3; k++) n = n->next;
    out[i] = n->value * 10000 + *into_table * 100 + text[i % 6] + (int)(weights[i % 5] * 2) + bytes[i % 3];
    if (i == 0) counter += 37;
}

extern __shared__ double as_doubles[];
extern __shared__ int as_ints[];
extern "C" __global__ void shared_memory(int *out) {
    __shared__ int fixed[32];
    int i = threadIdx.x;
    as_doubles[i] = i * 1.5;
    fixed[31 - i] = i;
    __syncthreads();
    // The two dynamic arrays are one memory; the static one is another.
    out[2 * i] = as_ints[2 * i + 1];
    out[2 * i + 1] = fixed[i];
    unsigned total, dynamic;
    asm volatile("mov.u32 %0, %%total_smem_size; mov.u32 %1, %%dynamic_smem_size;" : "=r"(total), "=r"(dynamic));
    if (i == 0) out[64] = total, out[65] = dynamic;
}
