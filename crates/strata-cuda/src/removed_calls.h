// Calls of CUDA's runtime that version 13 has removed, in terms of those that took their place. `strata cuda build` puts this
// before every source when the compiler's own headers lack them; the compiler says where one is used.
#pragma once
#if defined(__cplusplus) && defined(__CUDACC__)
#include <cuda_runtime_api.h>
#define STRATA_REMOVED(now) \
    [[deprecated("CUDA 13 has removed this call; strata cuda build makes it " now)]] static inline cudaError_t
STRATA_REMOVED("cudaDeviceSynchronize") cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
STRATA_REMOVED("cudaDeviceReset") cudaThreadExit() { return cudaDeviceReset(); }
STRATA_REMOVED("cudaDeviceSetLimit") cudaThreadSetLimit(cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
STRATA_REMOVED("cudaDeviceGetLimit") cudaThreadGetLimit(size_t *value, cudaLimit limit) { return cudaDeviceGetLimit(value, limit); }
STRATA_REMOVED("cudaDeviceSetCacheConfig") cudaThreadSetCacheConfig(cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }
STRATA_REMOVED("cudaDeviceGetCacheConfig") cudaThreadGetCacheConfig(cudaFuncCache *config) { return cudaDeviceGetCacheConfig(config); }
#undef STRATA_REMOVED
#endif
