// ---- The host side: what `strata validate --emit-cuda` adds to the kernels above, for machines with a card ----
//
// Every benchmark launches its kernel with N and with 2N repetitions, and what counts is the difference of the two times. A time is
// that between two events, in cycles of the core clock that the driver tells: lock it (`nvidia-smi -lgc`), or the cycles of a card
// that changes its clock are wrong. Standard output is a file for `strata validate --silicon` and `strata calibrate`.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

typedef unsigned long long Word;

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

#define CHECK(call) check(call, #call)

struct Card {
    double clock_mhz;
    int sms, threads_per_sm;
    size_t l2_bytes;
    int blocks() const { return sms * std::max(threads_per_sm / 1024, 1); }
    size_t threads() const { return size_t(blocks()) * 1024; }
};

// How often a measurement is repeated; the fastest of them counts, which is the least disturbed one.
static int repetitions = 1;
// N times this: events of a card tell half a microsecond.
static int scale = 1;

// Cycles of what `launch` starts, between two events.
static double cycles_of(const Card &card, const std::function<void()> &launch)
{
    cudaEvent_t from, to;
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
    CHECK(cudaEventRecord(from));
    launch();
    CHECK(cudaEventRecord(to));
    CHECK(cudaEventSynchronize(to));
    CHECK(cudaGetLastError());
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, from, to));
    CHECK(cudaEventDestroy(from));
    CHECK(cudaEventDestroy(to));
    return double(milliseconds) * card.clock_mhz * 1e3;
}

// Puts something else into L2: a launch does not meet what another left.
static void empty_l2(const Card &card)
{
    char *other;
    const size_t bytes = 4 * card.l2_bytes;
    CHECK(cudaMalloc(&other, bytes));
    CHECK(cudaMemset(other, 0, bytes));
    CHECK(cudaFree(other));
}

// Cycles that N repetitions more take; `run` prepares its data and tells the cycles of one launch.
static double difference(const Card &card, int n, const std::function<double(int)> &run)
{
    double best = 0;
    for (int k = 0; k < repetitions; k++) {
        empty_l2(card);
        const double once = run(n);
        empty_l2(card);
        const double more = run(2 * n) - once;
        best = k == 0 ? more : std::min(best, more);
    }
    return best;
}

static double chase(const Card &card, bool past_l1, Word nodes, Word stride, Word bytes, int n)
{
    return difference(card, n, [&](int iterations) {
        Word *array, *last;
        CHECK(cudaMalloc(&array, bytes));
        CHECK(cudaMalloc(&last, sizeof(Word)));
        std::vector<Word> words(bytes / sizeof(Word), 0);
        for (Word k = 0; k < nodes; k++)
            words[k * stride / sizeof(Word)] = Word(array) + (k + 1) % nodes * stride;
        CHECK(cudaMemcpy(array, words.data(), bytes, cudaMemcpyHostToDevice));
        const double cycles = cycles_of(card, [&] {
            if (past_l1)
                chase_l2<<<1, 1>>>(Word(array), last, iterations);
            else
                chase_l1<<<1, 1>>>(Word(array), last, iterations);
        });
        Word end;
        CHECK(cudaMemcpy(&end, last, sizeof(end), cudaMemcpyDeviceToHost));
        if (end != Word(array) + Word(iterations) * 16 % nodes * stride) {
            std::fprintf(stderr, "a chain of %llu nodes ends at the wrong one\n", nodes);
            std::exit(1);
        }
        CHECK(cudaFree(array));
        CHECK(cudaFree(last));
        return cycles;
    }) / (16.0 * n);
}

static double shared_latency(const Card &card, int n)
{
    return difference(card, n, [&](int iterations) {
        unsigned *last;
        CHECK(cudaMalloc(&last, sizeof(unsigned)));
        const double cycles = cycles_of(card, [&] { chase_shared<<<1, 1>>>(last, iterations); });
        CHECK(cudaFree(last));
        return cycles;
    }) / (16.0 * n);
}

static double atomic_latency(const Card &card, int n)
{
    const int nodes = 4096;
    return difference(card, n, [&](int iterations) {
        int *next, *last;
        CHECK(cudaMalloc(&last, sizeof(int)));
        CHECK(cudaMalloc(&next, nodes * sizeof(int)));
        std::vector<int> links(nodes);
        for (int k = 0; k < nodes; k++)
            links[k] = (k + 1) % nodes;
        CHECK(cudaMemcpy(next, links.data(), nodes * sizeof(int), cudaMemcpyHostToDevice));
        const double cycles = cycles_of(card, [&] { chain_atomic<<<1, 1>>>(next, last, 0, iterations); });
        CHECK(cudaFree(next));
        CHECK(cudaFree(last));
        return cycles;
    }) / (8.0 * n);
}

// Cycles of one repetition of an arithmetic kernel: 64 operations of each thread.
template <typename T> static double arithmetic(const Card &card, void (*kernel)(T *, T, T, int), T one, int threads, int n)
{
    return difference(card, n, [&](int iterations) {
        T *out;
        CHECK(cudaMalloc(&out, threads * sizeof(T)));
        const double cycles = cycles_of(card, [&] { kernel<<<1, threads>>>(out, one, one, iterations); });
        CHECK(cudaFree(out));
        return cycles;
    }) / n;
}

static double roots(const Card &card, int threads, int n)
{
    return difference(card, n, [&](int iterations) {
        float *out;
        CHECK(cudaMalloc(&out, threads * sizeof(float)));
        const double cycles = cycles_of(card, [&] { arithmetic_sqrt<<<1, threads>>>(out, 1.0f, iterations); });
        CHECK(cudaFree(out));
        return cycles;
    }) / n;
}

// Cycles of one repetition of a kernel that reads `len` values.
static double reading(const Card &card, size_t len, int blocks, int n, const std::function<void(const float *, float *, int)> &launch)
{
    return difference(card, n, [&](int iterations) {
        float *data, *out;
        CHECK(cudaMalloc(&data, std::max(len, size_t(1)) * sizeof(float)));
        std::vector<float> values(len);
        for (size_t k = 0; k < len; k++)
            values[k] = float(k % 8);
        CHECK(cudaMalloc(&out, size_t(blocks) * 1024 * sizeof(float)));
        CHECK(cudaMemcpy(data, values.data(), len * sizeof(float), cudaMemcpyHostToDevice));
        const double cycles = cycles_of(card, [&] { launch(data, out, iterations); });
        CHECK(cudaFree(data));
        CHECK(cudaFree(out));
        return cycles;
    }) / n;
}

static double launch_of_nothing(const Card &card)
{
    const int launches = 8;
    empty<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    const double all = cycles_of(card, [&] {
        for (int k = 0; k < launches; k++)
            empty<<<1, 1>>>();
    });
    return all / launches;
}

struct Benchmark {
    const char *name;
    std::function<double(const Card &)> measure;
};

static int dram_iterations(const Card &card)
{
    const size_t bytes = card.threads() * 64;
    return int(std::max((4 * card.l2_bytes + bytes - 1) / bytes, size_t(3)));
}

static std::vector<Benchmark> all()
{
    const unsigned halves = 0x3c003c00u;
    const auto steps = [](double cycles) { return cycles / 64; };
    const auto rate = [](double cycles, double per_thread) { return per_thread * 1024 / cycles; };
    return {
        {"fp32-latency", [=](const Card &c) { return steps(arithmetic(c, arithmetic_f32, 1.0f, 1, 64 * scale)); }},
        {"int32-latency", [=](const Card &c) { return steps(arithmetic(c, arithmetic_i32, 1, 1, 64 * scale)); }},
        {"fp64-latency", [=](const Card &c) { return steps(arithmetic(c, arithmetic_f64, 1.0, 1, 64 * scale)); }},
        {"fp16x2-latency", [=](const Card &c) { return steps(arithmetic(c, arithmetic_f16x2, halves, 1, 64 * scale)); }},
        {"sfu-latency", [=](const Card &c) { return steps(roots(c, 1, 64 * scale)); }},
        {"fp32-throughput", [=](const Card &c) { return rate(arithmetic(c, arithmetic_f32, 1.0f, 1024, 64 * scale), 128); }},
        {"int32-throughput", [=](const Card &c) { return rate(arithmetic(c, arithmetic_i32, 1, 1024, 64 * scale), 64); }},
        {"fp64-throughput", [=](const Card &c) { return rate(arithmetic(c, arithmetic_f64, 1.0, 1024, 64 * scale), 64); }},
        {"fp16x2-throughput", [=](const Card &c) { return rate(arithmetic(c, arithmetic_f16x2, halves, 1024, 64 * scale), 64); }},
        {"sfu-throughput", [=](const Card &c) { return rate(roots(c, 1024, 64 * scale), 64); }},
        {"l1-latency", [](const Card &c) { return chase(c, false, 512, 8, 4 << 10, 64 * scale); }},
        {"l1-bandwidth-128",
         [](const Card &c) {
             const auto launch = [](const float *data, float *out, int n) { read_l1_vector<<<1, 1024>>>((const float4 *)data, out, n); };
             return 65536 / reading(c, (1024 + 4 * 32) * 4, 1, 64 * scale, launch);
         }},
        {"l1-bandwidth-32",
         [](const Card &c) {
             const auto launch = [](const float *data, float *out, int n) { read_l1<<<1, 1024>>>(data, out, n); };
             return 32768 / reading(c, 1024 + 8 * 32, 1, 128 * scale, launch);
         }},
        {"shared-latency", [](const Card &c) { return shared_latency(c, 64 * scale); }},
        {"shared-bandwidth",
         [](const Card &c) {
             const auto launch = [](const float *, float *out, int n) { read_shared<<<1, 1024>>>(out, n); };
             return 32768 / reading(c, 0, 1, 128 * scale, launch);
         }},
        {"l2-latency", [](const Card &c) { return chase(c, true, 1024, 32, 32 << 10, 128 * scale); }},
        {"l2-latency-after-copy", [](const Card &c) { return chase(c, true, 8192, 128, 1 << 20, 256); }},
        {"l2-bandwidth",
         [](const Card &c) {
             const int n = 16;
             const int blocks = c.blocks();
             const auto launch = [=](const float *data, float *out, int n) { read_l2<<<blocks, 1024>>>(data, out, n); };
             return c.threads() * 16.0 / reading(c, c.threads() + 2 * n * 4 * 32, blocks, n, launch);
         }},
        {"dram-latency",
         [](const Card &c) { return chase(c, true, 16384, 32, std::max(2 * c.l2_bytes, size_t(1) << 20), 512); }},
        {"dram-latency-far",
         [](const Card &c) {
             const Word stride = std::max((2 * Word(c.l2_bytes) / 1024 + 31) / 32 * 32, Word(4096));
             return chase(c, true, 1024, stride, 2 * 1024 * stride, 32);
         }},
        {"dram-bandwidth",
         [](const Card &c) {
             const int n = dram_iterations(c), blocks = c.blocks();
             const auto launch = [=](const float *data, float *out, int n) {
                 read_dram<<<blocks, 1024>>>((const float4 *)data, out, n);
             };
             return c.threads() * 64.0 / reading(c, 2 * size_t(n) * 16 * c.threads(), blocks, n, launch);
         }},
        {"atomic-latency", [](const Card &c) { return atomic_latency(c, 256 * scale); }},
        {"kernel-launch", [](const Card &c) { return launch_of_nothing(c); }},
    };
}

// ./microbenchmarks [--repeat K] [--scale S] [NAME...]
int main(int count, char **arguments)
{
    std::vector<std::string> wanted;
    for (int k = 1; k < count; k++) {
        if (!std::strcmp(arguments[k], "--repeat") && k + 1 < count)
            repetitions = std::max(std::atoi(arguments[++k]), 1);
        else if (!std::strcmp(arguments[k], "--scale") && k + 1 < count)
            scale = std::max(std::atoi(arguments[++k]), 1);
        else
            wanted.push_back(arguments[k]);
    }
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    int khz = 0;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    const Card card = {khz / 1e3, properties.multiProcessorCount, properties.maxThreadsPerMultiProcessor,
                       size_t(properties.l2CacheSize)};
    std::printf("card = \"%s\"\n", properties.name);
    std::printf("source = \"microbenchmarks of strata validate --emit-cuda, %d SMs at %.0f MHz\"\n", card.sms, card.clock_mhz);
    for (const Benchmark &benchmark : all()) {
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), benchmark.name) == wanted.end())
            continue;
        std::printf("\n[[rows]]\nmicro = \"%s\"\nsilicon = %.6g\n", benchmark.name, benchmark.measure(card));
        std::fflush(stdout);
    }
    return 0;
}
