// What the CUDA runtime gives device code: printf, malloc, clocks.
#include <cstdio>

extern "C" __global__ void prints(float f, const char *) {
    printf("block %d thread %d: %5.2f %s %c %#x %lld %%\n", blockIdx.x, threadIdx.x, f * threadIdx.x, "text", 'a' + threadIdx.x,
           255u, -1ll - threadIdx.x);
    if (threadIdx.x == 1) printf("odd one\n");
}

extern "C" __global__ void linked_list(int *out, int n) {
    struct Cell {
        Cell *next;
        int value;
    };
    Cell *head = nullptr;
    for (int k = 0; k < n; k++) {
        Cell *c = new Cell;
        c->next = head;
        c->value = k * threadIdx.x;
        head = c;
    }
    int sum = 0;
    while (head) {
        Cell *next = head->next;
        sum += head->value;
        delete head;
        head = next;
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void clocks(long long *out) {
    long long a = clock64();
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    long long b = clock64();
    long long c = clock64();
    out[threadIdx.x * 4] = a, out[threadIdx.x * 4 + 1] = t, out[threadIdx.x * 4 + 2] = b, out[threadIdx.x * 4 + 3] = c;
}

extern "C" __global__ void where(unsigned *out) {
    unsigned lane, warp, warps, sm, sms, lt, ge;
    asm volatile("mov.u32 %0, %%laneid; mov.u32 %1, %%warpid; mov.u32 %2, %%nwarpid; mov.u32 %3, %%smid; mov.u32 %4, %%nsmid;"
                 : "=r"(lane), "=r"(warp), "=r"(warps), "=r"(sm), "=r"(sms));
    asm volatile("mov.u32 %0, %%lanemask_lt; mov.u32 %1, %%lanemask_ge;" : "=r"(lt), "=r"(ge));
    unsigned i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[i * 4] = lane | warp << 8;
    out[i * 4 + 1] = sm < sms && warp < warps;
    out[i * 4 + 2] = lt;
    out[i * 4 + 3] = ge;
}
