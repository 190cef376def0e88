// Block- and warp-level primitives of CUB, and the hand-written classics beside them.
#include <cub/cub.cuh>

constexpr int THREADS = 128, ITEMS = 4;

extern "C" __global__ void radix_sort(const unsigned *in, unsigned *out, const int *values_in, int *values_out) {
    using Sort = cub::BlockRadixSort<unsigned, THREADS, ITEMS, int>;
    using Load = cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Load::TempStorage load;
    } s;
    unsigned keys[ITEMS];
    int values[ITEMS];
    size_t base = blockIdx.x * THREADS * ITEMS;
    Load(s.load).Load(in + base, keys);
    for (int k = 0; k < ITEMS; k++) values[k] = values_in[base + threadIdx.x * ITEMS + k];
    __syncthreads();
    Sort(s.sort).Sort(keys, values);
    for (int k = 0; k < ITEMS; k++) {
        out[base + threadIdx.x * ITEMS + k] = keys[k];
        values_out[base + threadIdx.x * ITEMS + k] = values[k];
    }
}

extern "C" __global__ void scan_and_reduce(const int *in, int *scanned, int *total, int *largest) {
    using Scan = cub::BlockScan<int, THREADS, cub::BLOCK_SCAN_WARP_SCANS>;
    using Reduce = cub::BlockReduce<int, THREADS>;
    __shared__ typename Scan::TempStorage scan;
    __shared__ typename Reduce::TempStorage reduce;
    int i = blockIdx.x * THREADS + threadIdx.x, sum, v = in[i];
    int before;
    Scan(scan).ExclusiveSum(v, before, sum);
    int most = Reduce(reduce).Reduce(v, [](int a, int b) { return a > b ? a : b; });
    scanned[i] = before;
    if (threadIdx.x == 0) total[blockIdx.x] = sum, largest[blockIdx.x] = most;
}

extern "C" __global__ void warp_primitives(const int *in, int *sums, int *prefix, int *merged) {
    using Reduce = cub::WarpReduce<int, 8>;
    using Scan = cub::WarpScan<int>;
    using Merge = cub::WarpMergeSort<int, 2, 32>;
    __shared__ typename Reduce::TempStorage reduce[THREADS / 8];
    __shared__ typename Scan::TempStorage scan[THREADS / 32];
    __shared__ typename Merge::TempStorage merge[THREADS / 32];
    int i = threadIdx.x, v = in[i];
    int sum = Reduce(reduce[i / 8]).Sum(v);
    if (i % 8 == 0) sums[i / 8] = sum;
    int p;
    Scan(scan[i / 32]).InclusiveSum(v, p);
    prefix[i] = p;
    int pair[2] = {v, -v};
    Merge(merge[i / 32]).Sort(pair, [](int a, int b) { return a < b; });
    merged[2 * i] = pair[0], merged[2 * i + 1] = pair[1];
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *bins, int n) {
    __shared__ unsigned local[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) local[k] = 0;
    __syncthreads();
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += blockDim.x * gridDim.x) atomicAdd(&local[in[k]], 1);
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], local[k]);
}

extern "C" __global__ void bitonic_sort(float *data) {
    extern __shared__ float s[];
    int i = threadIdx.x;
    s[i] = data[i];
    for (int k = 2; k <= blockDim.x; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int other = i ^ j;
            if (other > i && (s[i] > s[other]) == ((i & k) == 0)) {
                float t = s[i];
                s[i] = s[other], s[other] = t;
            }
        }
    }
    __syncthreads();
    data[i] = s[i];
}

extern "C" __global__ void transpose(const double *in, double *out, int width, int height) {
    __shared__ double tile[16][17];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x, y = blockIdx.x * 16 + threadIdx.y;
    if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}
