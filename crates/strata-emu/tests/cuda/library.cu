// Cooperative groups, libcu++ and the mathematical library.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuComplex.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int *in, int *out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
    int i = block.thread_rank(), v = in[i];
    out[i * 6] = cg::reduce(tile, v, cg::plus<int>());
    out[i * 6 + 1] = tile.ballot(v % 2);
    out[i * 6 + 2] = tile.any(v > 90) * 2 + tile.all(v > 5);
    out[i * 6 + 3] = tile.match_any(v % 3);
    out[i * 6 + 4] = tile.shfl_down(v, 1);
    // Only some lanes: they form a group by themselves.
    out[i * 6 + 5] = 0;
    if (v % 2) {
        cg::coalesced_group odd = cg::coalesced_threads();
        out[i * 6 + 5] = odd.size() * 100 + odd.thread_rank() + 10000 * odd.shfl(i, 0);
    }
}

extern "C" __global__ void aggregated(const int *in, int *next, int *kept) {
    int v = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (v % 3 == 0) {
        cg::coalesced_group g = cg::coalesced_threads();
        int first;
        if (g.thread_rank() == 0) first = atomicAdd(next, (int)g.size());
        kept[g.shfl(first, 0) + g.thread_rank()] = v;
    }
}

extern "C" __global__ void atomics(int *counters, double *sum) {
    cuda::atomic_ref<int, cuda::thread_scope_device> relaxed(counters[0]);
    relaxed.fetch_add(2, cuda::memory_order_relaxed);
    cuda::atomic_ref<int, cuda::thread_scope_system> largest(counters[1]);
    largest.fetch_max(threadIdx.x * 3, cuda::memory_order_acq_rel);
    cuda::atomic_ref<int> once(counters[2]);
    int expected = 0;
    if (once.compare_exchange_strong(expected, 77)) counters[3] = threadIdx.x + 1;
    cuda::atomic_ref<double, cuda::thread_scope_device>(*sum).fetch_add(0.25);
    atomicAnd(&counters[4], ~(1 << (threadIdx.x % 32)));
    atomicXor(&counters[5], threadIdx.x);
    atomicDec((unsigned *)&counters[6], 9);
    atomicMin((long long *)&counters[8], -(long long)threadIdx.x << 33);
}

extern "C" __global__ void phases(int *out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[96];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    int v = threadIdx.x;
    for (int k = 0; k < 5; k++) {
        s[threadIdx.x] = v;
        bar.arrive_and_wait();
        v += s[(threadIdx.x + 7) % blockDim.x];
        auto token = bar.arrive();
        bar.wait(std::move(token));
    }
    out[threadIdx.x] = v;
}

extern "C" __global__ void halves(const float *in, float *out) {
    int i = threadIdx.x;
    __half a = __float2half(in[2 * i]), b = __float2half(in[2 * i + 1]);
    __nv_bfloat16 c = __float2bfloat16(in[2 * i]), d = __float2bfloat16(in[2 * i + 1]);
    __half2 pair = __hfma2(__halves2half2(a, b), __halves2half2(b, b), __halves2half2(a, a));
    out[8 * i] = __half2float(a + b);
    out[8 * i + 1] = __half2float(a * b - a);
    out[8 * i + 2] = __low2float(pair);
    out[8 * i + 3] = __high2float(pair);
    out[8 * i + 4] = __bfloat162float(c + d);
    out[8 * i + 5] = __bfloat162float(c * d - c);
    out[8 * i + 6] = __hlt(a, b) ? __half2float(hsqrt(__habs(a))) : __half2float(__hmax(a, b));
    out[8 * i + 7] = __half2int_rn(a) + (int)__half2uint_rz(__habs(b));
}

extern "C" __global__ void doubles(const double *in, double *out) {
    int i = threadIdx.x;
    double v = in[i];
    out[8 * i] = sin(v), out[8 * i + 1] = exp(v), out[8 * i + 2] = pow(fabs(v), 1.7), out[8 * i + 3] = erf(v);
    out[8 * i + 4] = lgamma(fabs(v) + 0.5), out[8 * i + 5] = cbrt(v), out[8 * i + 6] = atan2(v, 2.0), out[8 * i + 7] = log1p(fabs(v));
}

extern "C" __global__ void floats(const float *in, float *out) {
    int i = threadIdx.x;
    float v = in[i];
    out[8 * i] = sinf(v * 1000), out[8 * i + 1] = expf(v), out[8 * i + 2] = powf(fabsf(v), 1.7f), out[8 * i + 3] = tanf(v);
    out[8 * i + 4] = v / 3.7f, out[8 * i + 5] = sqrtf(fabsf(v)), out[8 * i + 6] = fmodf(v, 0.3f), out[8 * i + 7] = logf(fabsf(v));
}

extern "C" __global__ void wide_integers(const long long *in, long long *out) {
    int i = threadIdx.x;
    long long a = in[2 * i], b = in[2 * i + 1];
    out[6 * i] = a / b, out[6 * i + 1] = a % b;
    out[6 * i + 2] = (unsigned long long)a / (unsigned long long)b, out[6 * i + 3] = (unsigned long long)a % (unsigned long long)b;
    out[6 * i + 4] = __mul64hi(a, b), out[6 * i + 5] = (long long)((__int128)a * b >> 17);
}

extern "C" __global__ void mandelbrot(int *out, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    cuDoubleComplex c = make_cuDoubleComplex(-2.0 + x * (3.0 / 64), -1.0 + y * (2.0 / 16)), z = make_cuDoubleComplex(0, 0);
    int n = 0;
    while (n < limit && cuCreal(z) * cuCreal(z) + cuCimag(z) * cuCimag(z) < 4) {
        z = cuCadd(cuCmul(z, z), c);
        n++;
    }
    out[y * 64 + x] = n;
}

// Philox 4x32, ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
extern "C" __global__ void philox(uint4 *out, unsigned key0, unsigned key1) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = make_uint4(i, 0, 7, 0);
    for (int r = 0; r < 10; r++) {
        unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ key0, l1, h0 ^ c.w ^ key1, l0);
        key0 += 0x9E3779B9u, key1 += 0xBB67AE85u;
    }
    out[i] = c;
}
