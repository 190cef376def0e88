// Kernels that measure one property of a machine each. All repeat their body `iterations` times, so that the difference
// between two launches leaves out what every launch costs. Instructions that count are written as PTX: the compiler may
// neither drop nor merge them.

#define TIMES2(x) x x
#define TIMES4(x) TIMES2(x) TIMES2(x)
#define TIMES8(x) TIMES4(x) TIMES4(x)
#define TIMES16(x) TIMES8(x) TIMES8(x)
#define TIMES64(x) TIMES16(x) TIMES16(x) TIMES16(x) TIMES16(x)

extern "C" __global__ void empty()
{
}

// Sixteen hops per iteration along a chain of addresses, through L1 if it caches global loads.
extern "C" __global__ void chase_l1(unsigned long long first, unsigned long long *last, int iterations)
{
    unsigned long long node = first;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        TIMES16(asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(node) : : "memory");)
    }
    *last = node;
}

// The same past L1.
extern "C" __global__ void chase_l2(unsigned long long first, unsigned long long *last, int iterations)
{
    unsigned long long node = first;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        TIMES16(asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(node) : : "memory");)
    }
    *last = node;
}

// The same in shared memory, along 256 nodes; the end is given as the number of its node.
extern "C" __global__ void chase_shared(unsigned *last, int iterations)
{
    __shared__ unsigned nodes[256];
    const unsigned start = static_cast<unsigned>(__cvta_generic_to_shared(nodes));
#pragma unroll 1
    for (int i = 0; i < 256; i++)
        nodes[i] = start + 4 * ((i + 1) % 256);
    __syncthreads();
    unsigned node = start;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        TIMES16(asm volatile("ld.shared.u32 %0, [%0];" : "+r"(node) : : "memory");)
    }
    *last = (node - start) / 4;
}

// Eight atomic additions per iteration, each at the place that the one before returned. `zero` is 0, which the compiler
// does not know.
extern "C" __global__ void chain_atomic(int *next, int *last, int zero, int iterations)
{
    int node = 0;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        TIMES8(node = atomicAdd(next + node, zero);)
    }
    *last = node;
}

// Sixty-four dependent operations per iteration and thread.
#define ARITHMETIC(name, type, reg, instruction)                                                                       \
    extern "C" __global__ void name(type *out, type a, type b, int iterations)                                         \
    {                                                                                                                  \
        type sum = 0;                                                                                                  \
        _Pragma("unroll 1") for (int i = 0; i < iterations; i++)                                                       \
        {                                                                                                              \
            TIMES64(asm volatile(instruction " %0, %1, %2, %0;" : "+" reg(sum) : reg(a), reg(b));)                     \
        }                                                                                                              \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                                              \
    }

ARITHMETIC(arithmetic_f32, float, "f", "fma.rn.f32")
ARITHMETIC(arithmetic_f64, double, "d", "fma.rn.f64")
ARITHMETIC(arithmetic_i32, int, "r", "mad.lo.s32")
// A pair of half-precision numbers in each word.
ARITHMETIC(arithmetic_f16x2, unsigned, "r", "fma.rn.f16x2")

extern "C" __global__ void arithmetic_sqrt(float *out, float first, int iterations)
{
    float root = first;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        TIMES64(asm volatile("sqrt.approx.ftz.f32 %0, %0;" : "+f"(root));)
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = root;
}

#define LOAD(v, place, offset) asm volatile("ld." place ".f32 %0, [%1+" #offset "];" : "=f"(v) : "l"(from))
#define LOAD_SHARED(v, offset) asm volatile("ld.shared.f32 %0, [%1+" #offset "];" : "=f"(v) : "r"(from))
#define LOAD_VECTOR(v, offset)                                                                                         \
    asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4+" #offset "];"                                             \
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)                                                          \
                 : "l"(from))

static __device__ float total(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

// Eight loads of 32 bits per iteration and thread; a block reads 5 KiB over and over.
extern "C" __global__ void read_l1(const float *data, float *out, int iterations)
{
    const unsigned long long from = __cvta_generic_to_global(data + threadIdx.x);
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        float a, b, c, d, e, f, g, h;
        LOAD(a, "global.ca", 0);
        LOAD(b, "global.ca", 128);
        LOAD(c, "global.ca", 256);
        LOAD(d, "global.ca", 384);
        LOAD(e, "global.ca", 512);
        LOAD(f, "global.ca", 640);
        LOAD(g, "global.ca", 768);
        LOAD(h, "global.ca", 896);
        sum += ((a + b) + (c + d)) + ((e + f) + (g + h));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Four loads of 128 bits per iteration and thread; a block reads 18 KiB over and over.
extern "C" __global__ void read_l1_vector(const float4 *data, float *out, int iterations)
{
    const unsigned long long from = __cvta_generic_to_global(data + threadIdx.x);
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        float4 a, b, c, d;
        LOAD_VECTOR(a, 0);
        LOAD_VECTOR(b, 512);
        LOAD_VECTOR(c, 1024);
        LOAD_VECTOR(d, 1536);
        sum += (total(a) + total(b)) + (total(c) + total(d));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Eight loads of 32 bits per iteration and thread from shared memory, every warp from 32 different banks.
extern "C" __global__ void read_shared(float *out, int iterations)
{
    __shared__ float data[1024 + 256];
    for (int i = threadIdx.x; i < 1024 + 256; i += blockDim.x)
        data[i] = i % 8;
    __syncthreads();
    const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(data + threadIdx.x));
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        float a, b, c, d, e, f, g, h;
        LOAD_SHARED(a, 0);
        LOAD_SHARED(b, 128);
        LOAD_SHARED(c, 256);
        LOAD_SHARED(d, 384);
        LOAD_SHARED(e, 512);
        LOAD_SHARED(f, 640);
        LOAD_SHARED(g, 768);
        LOAD_SHARED(h, 896);
        sum += ((a + b) + (c + d)) + ((e + f) + (g + h));
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Four loads of 32 bits past L1 per iteration and thread; every iteration begins 512 bytes further on.
extern "C" __global__ void read_l2(const float *data, float *out, int iterations)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long from = __cvta_generic_to_global(data + thread);
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        float a, b, c, d;
        LOAD(a, "global.cg", 0);
        LOAD(b, "global.cg", 128);
        LOAD(c, "global.cg", 256);
        LOAD(d, "global.cg", 384);
        sum += (a + b) + (c + d);
        from += 512;
    }
    out[thread] = sum;
}

// Four loads of 128 bits per iteration and thread, each a whole grid after the one before: every byte is read once.
extern "C" __global__ void read_dram(const float4 *data, float *out, int iterations)
{
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int threads = blockDim.x * gridDim.x;
    const float4 *from = data + thread;
    float sum = 0.0f;
#pragma unroll 1
    for (int i = 0; i < iterations; i++) {
        const float4 a = from[0];
        const float4 b = from[threads];
        const float4 c = from[2 * threads];
        const float4 d = from[3 * threads];
        sum += (total(a) + total(b)) + (total(c) + total(d));
        from += 4 * threads;
    }
    out[thread] = sum;
}
