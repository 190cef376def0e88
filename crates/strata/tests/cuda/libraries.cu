// Thrust and CUB: sort, scan, reduce, transform.
#include "check.h"
#include <algorithm>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <vector>

struct Square {
    __host__ __device__ int operator()(int x) const { return x * x; }
};

int main() {
    const int n = 3000;
    std::vector<int> host(n), back(n);
    unsigned state = 1;
    for (int &x : host) x = int((state = state * 1664525 + 1013904223) >> 12) - 500000;
    thrust::device_vector<int> data(host.begin(), host.end()), scanned(n), squares(n);

    thrust::sort(data.begin(), data.end());
    std::sort(host.begin(), host.end());
    thrust::copy(data.begin(), data.end(), back.begin());
    EXPECT(back == host);

    EXPECT(thrust::reduce(data.begin(), data.end(), 0LL) == std::accumulate(host.begin(), host.end(), 0LL));
    thrust::transform(data.begin(), data.end(), squares.begin(), Square());
    thrust::inclusive_scan(data.begin(), data.end(), scanned.begin());
    std::vector<int> sums(n);
    std::partial_sum(host.begin(), host.end(), sums.begin());
    thrust::copy(scanned.begin(), scanned.end(), back.begin());
    EXPECT(back == sums);
    EXPECT(int(squares[10]) == host[10] * host[10]);

    size_t bytes = 0;
    int *in = thrust::raw_pointer_cast(data.data()), *out = thrust::raw_pointer_cast(scanned.data());
    CUDA(cub::DeviceReduce::Max(nullptr, bytes, in, out, n));
    void *work;
    CUDA(cudaMalloc(&work, bytes));
    CUDA(cub::DeviceReduce::Max(work, bytes, in, out, n));
    EXPECT(int(scanned[0]) == host.back());
    std::puts("libraries: all is right");
    return 0;
}
