// What every program here needs: a call that must succeed, a value that must be right.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                                      \
    do {                                                                                                \
        cudaError_t status = (call);                                                                    \
        if (status != cudaSuccess) {                                                                    \
            std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));      \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)

#define EXPECT(condition)                                                                               \
    do {                                                                                                \
        if (!(condition)) {                                                                             \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                         \
            std::exit(1);                                                                               \
        }                                                                                               \
    } while (0)
