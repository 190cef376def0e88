// Random access: every hundredth thread reads its key, then a random entry of a table, and writes that somewhere.
//
// `mask` is one less than the number of keys, a power of two. Slots are a permutation of the threads, so no two threads
// write the same one.

extern "C" __global__ void random_access(unsigned mask, const unsigned *keys, unsigned *found, const unsigned *table)
{
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread > mask || thread % 100 != 0)
        return;
    const unsigned key = keys[thread];
    found[thread * 2654435761u & mask] = table[key & mask] ^ key;
}
