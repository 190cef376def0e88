// The kernels of the programs that train neural networks or use trained ones. Tensors are in the order image, channel, row,
// column.
//
// Backward kernels take `add`: 0 to store a gradient, 1 to add to the one that another consumer of the same tensor left.

#include "reduction.cuh"
#include "gemm.cuh"
#include "convolution.cuh"
#include "pooling.cuh"
#include "normalisation.cuh"
#include "elementwise.cuh"
#include "loss.cuh"
#include "recurrent.cuh"
#include "update.cuh"
#include "inference.cuh"
