// Atomics on all kinds of numbers, in shared, global and managed memory, and what can be built of compare-and-swap.
#include "check.h"

struct Totals {
    int sum, least, most, ored, anded, turns;
    unsigned wrapped;
    unsigned long long large;
    float single_sum;
    double double_sum;
    float greatest;
    int lock, guarded;
};

__device__ void greatest(float *place, float value) {
    int *bits = (int *)place, old = *bits, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= value) break;
        old = atomicCAS(bits, assumed, __float_as_int(value));
    } while (assumed != old);
}

__global__ void all(Totals *t, int *histogram) {
    __shared__ int bins[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[i * 7 % 8], 1);
    atomicAdd(&t->sum, i);
    atomicMin(&t->least, 5 - i);
    atomicMax(&t->most, i);
    atomicOr(&t->ored, 1 << i % 20);
    atomicAnd(&t->anded, ~(1 << i % 3));
    atomicInc(&t->wrapped, 99);
    atomicAdd(&t->large, 1ull << 33);
    atomicAdd(&t->single_sum, 0.5f);
    atomicAdd(&t->double_sum, 0.25);
    greatest(&t->greatest, float(i % 77));
    if (threadIdx.x == 0) {
        while (atomicExch(&t->lock, 1)) {}
        t->guarded += 1;
        __threadfence();
        atomicExch(&t->lock, 0);
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(&histogram[threadIdx.x], bins[threadIdx.x]);
}

int main() {
    const int n = 8 * 128;
    Totals *t;
    int *histogram;
    CUDA(cudaMallocManaged(&t, sizeof *t));
    CUDA(cudaMallocManaged(&histogram, 8 * sizeof(int)));
    *t = Totals();
    t->anded = -1;
    all<<<8, 128>>>(t, histogram);
    CUDA(cudaDeviceSynchronize());
    EXPECT(t->sum == n * (n - 1) / 2 && t->least == 5 - (n - 1) && t->most == n - 1);
    EXPECT(t->ored == (1 << 20) - 1 && t->anded == ~7 && t->wrapped == n % 100);
    EXPECT(t->large == (1ull << 33) * n && t->single_sum == n / 2.0f && t->double_sum == n / 4.0);
    EXPECT(t->greatest == 76.0f && t->guarded == 8);
    for (int i = 0; i < 8; ++i) EXPECT(histogram[i] == n / 8);
    std::puts("atomics: all is right");
    return 0;
}
