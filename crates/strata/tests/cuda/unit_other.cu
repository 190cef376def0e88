// The other unit of unit_main.cu; what both print has the same name in their PTX.
#include <cstdio>

__device__ int weights[4] = {2, 3, 4, 5};
__device__ __noinline__ int weigh(int i, int value) { return weights[i] * value; }
static __global__ void there(int *data) {
    if (++data[threadIdx.x] == 21) printf("there\n");
}
void launch_in_other_unit(int *data, int n) { there<<<1, n>>>(data); }
