// LIBOR market model by Monte Carlo, with sensitivities by the adjoint method. One path per thread.
//
// RATES forward rates over accrual periods of length DELTA are simulated for STEPS periods; a portfolio of swaptions is priced
// on what they are then. The derivative of its value by each initial rate follows by going back: first through the
// portfolio, then through the steps, for which the rates of every step are kept.
//
// Arrays have the path as their last index, so that the threads of a warp are neighbours.

#define RATES 80
#define STEPS 40
#define SWAPTIONS 15
#define DELTA 0.25f
#define NOTIONAL 100.0f

// Rates at each step: RATES numbers for every path.
struct Paths {
    float *states;
    int count;
    int path;

    __device__ float &rate(int step, int n) const
    {
        return states[((size_t)step * RATES + n) * count + path];
    }
};

// Simulates the path: rates of step + 1 from those of step. Rates that are fixed already stay.
static __device__ void simulate(const Paths &paths, const float *shocks, const float *volatility)
{
    for (int step = 0; step < STEPS; step++) {
        const float shock = sqrtf(DELTA) * shocks[(size_t)step * paths.count + paths.path];
        float drift = 0.0f;
#pragma unroll 1
        for (int n = 0; n <= step; n++)
            paths.rate(step + 1, n) = paths.rate(step, n);
#pragma unroll 1
        for (int n = step + 1; n < RATES; n++) {
            const float lambda = volatility[n - step - 1];
            const float rate = paths.rate(step, n);
            drift += DELTA * lambda * rate / (1.0f + DELTA * rate);
            paths.rate(step + 1, n) = rate * expf(DELTA * lambda * drift + lambda * (shock - 0.5f * DELTA * lambda));
        }
    }
}

// The portfolio's value, and its derivative by each rate of the last step in `slopes`.
static __device__ float portfolio(const Paths &paths, float *slopes, const int *maturities, const float *strikes)
{
    const int count = paths.count;
    float *slope = slopes + paths.path;
    float of_bond[RATES - STEPS], of_annuity[RATES - STEPS];
    float bond = 1.0f, annuity = 0.0f, value = 0.0f;
    int swaption = 0;
#pragma unroll 1
    for (int n = STEPS; n < RATES; n++) {
        const int m = n - STEPS;
        bond /= 1.0f + DELTA * paths.rate(STEPS, n);
        annuity += DELTA * bond;
        slope[(size_t)n * count] = bond;
        of_bond[m] = of_annuity[m] = 0.0f;
        // Swaptions come in the order of their maturities.
        for (; swaption < SWAPTIONS && maturities[swaption] == m; swaption++) {
            const float swap = bond + strikes[swaption] * annuity - 1.0f;
            if (swap < 0.0f) {
                value -= NOTIONAL * swap;
                of_bond[m] -= NOTIONAL;
                of_annuity[m] -= NOTIONAL * strikes[swaption];
            }
        }
    }
    // Back through bonds and annuities.
    float annuities = 0.0f, later = 0.0f;
#pragma unroll 1
    for (int n = RATES - 1; n >= STEPS; n--) {
        const int m = n - STEPS;
        const float growth = 1.0f + DELTA * paths.rate(STEPS, n);
        annuities += of_annuity[m];
        const float of_this = of_bond[m] + DELTA * annuities + later;
        slope[(size_t)n * count] *= -of_this * DELTA / growth;
        later = of_this / growth;
    }
    // The value is discounted over the simulated periods.
    float discount = 1.0f;
#pragma unroll 1
    for (int n = 0; n < STEPS; n++)
        discount /= 1.0f + DELTA * paths.rate(STEPS, n);
    value *= discount;
    const float *rates = &paths.rate(STEPS, 0);
#pragma unroll 1
    for (int n = 0; n < STEPS; n++)
        slope[(size_t)n * count] = -value * DELTA / (1.0f + DELTA * rates[(size_t)n * count]);
#pragma unroll 1
    for (int n = STEPS; n < RATES; n++)
        slope[(size_t)n * count] = discount * slope[(size_t)n * count];
    return value;
}

// Turns derivatives by the rates of the last step into those by the first rates.
static __device__ void go_back(const Paths &paths, float *slopes, const float *volatility)
{
    float *slope = slopes + paths.path;
    for (int step = STEPS - 1; step >= 0; step--) {
        float of_drift = 0.0f;
#pragma unroll 1
        for (int n = RATES - 1; n > step; n--) {
            const float lambda = volatility[n - step - 1];
            const float before = paths.rate(step, n), after = paths.rate(step + 1, n);
            const float growth = 1.0f + DELTA * before;
            const float of_this = slope[(size_t)n * paths.count];
            of_drift += of_this * after * DELTA * lambda;
            slope[(size_t)n * paths.count] = of_this * after / before + DELTA * lambda * of_drift / (growth * growth);
        }
    }
}

extern "C" __global__ void value_and_slopes(float *states, float *slopes, float *values, const float *shocks,
                                            const float *volatility, const int *maturities, const float *strikes, int count)
{
    const int path = blockIdx.x * blockDim.x + threadIdx.x;
    if (path >= count)
        return;
    const Paths paths = {states, count, path};
    simulate(paths, shocks, volatility);
    values[path] = portfolio(paths, slopes, maturities, strikes);
    go_back(paths, slopes, volatility);
}
