// The Euler equations of a gas on an unstructured mesh: finite volumes of four faces, an explicit scheme of three
// Runge-Kutta stages, central fluxes with artificial viscosity. One cell per thread; arrays hold one variable of all
// cells after another, `stride` cells apart.

#define GAMMA 1.4f
#define FACES 4
#define VARIABLES 5
#define STAGES 3
#define WALL -1
#define FAR_FIELD -2
#define COURANT 0.5f
#define SMOOTHING 0.2f

// Density, momentum and energy, each per volume.
struct State {
    float density;
    float momentum[3];
    float energy;
};

// What follows from a state.
struct Gas {
    float velocity[3];
    float pressure;
    // Speed of the gas plus that of sound in it.
    float wave;
};

static __device__ State load(const float *__restrict__ variables, int cell, int stride)
{
    State s;
    s.density = variables[cell];
    for (int k = 0; k < 3; k++)
        s.momentum[k] = variables[(1 + k) * stride + cell];
    s.energy = variables[4 * stride + cell];
    return s;
}

static __device__ Gas gas(const State &s)
{
    Gas g;
    float square = 0.0f;
    for (int k = 0; k < 3; k++) {
        g.velocity[k] = s.momentum[k] / s.density;
        square += g.velocity[k] * g.velocity[k];
    }
    g.pressure = (GAMMA - 1.0f) * (s.energy - 0.5f * s.density * square);
    g.wave = sqrtf(square) + sqrtf(GAMMA * g.pressure / s.density);
    return g;
}

// Adds `share` of what flows through a face with this normal.
static __device__ void add_flow(State &sum, const State &s, const Gas &g, const float normal[3], float share)
{
    float through = 0.0f;
    for (int k = 0; k < 3; k++)
        through += g.velocity[k] * normal[k];
    through *= share;
    sum.density += through * s.density;
    for (int k = 0; k < 3; k++)
        sum.momentum[k] += through * s.momentum[k] + share * g.pressure * normal[k];
    sum.energy += through * (s.energy + g.pressure);
}

extern "C" __global__ void initialize_variables(float *variables, const float *free_stream, int stride)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    for (int v = 0; v < VARIABLES; v++)
        variables[v * stride + cell] = free_stream[v];
}

extern "C" __global__ void copy_variables(float *to, const float *from, int stride)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    for (int v = 0; v < VARIABLES; v++)
        to[v * stride + cell] = from[v * stride + cell];
}

// The time step of each cell over its volume: waves cross its largest section, half of its surface.
extern "C" __global__ void compute_step_factor(const float *__restrict__ variables, const float *__restrict__ areas,
                                               float *step_factors, int stride)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    step_factors[cell] = COURANT / (areas[cell] * gas(load(variables, cell, stride)).wave);
}

// What flows into each cell. Normals point inwards and are as long as their face is large.
extern "C" __global__ void compute_flux(const int *__restrict__ neighbours, const float *__restrict__ normals,
                                        const float *__restrict__ variables, const float *__restrict__ free_stream,
                                        float *fluxes, int stride)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    const State own = load(variables, cell, stride);
    const Gas own_gas = gas(own);
    State sum = {0.0f, {0.0f, 0.0f, 0.0f}, 0.0f};
#pragma unroll 1
    for (int face = 0; face < FACES; face++) {
        const int neighbour = neighbours[face * stride + cell];
        float normal[3];
        for (int k = 0; k < 3; k++)
            normal[k] = normals[(k * FACES + face) * stride + cell];
        if (neighbour >= 0) {
            const State other = load(variables, neighbour, stride);
            const Gas other_gas = gas(other);
            const float area = sqrtf(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]);
            const float viscosity = area * SMOOTHING * 0.5f * (own_gas.wave + other_gas.wave);
            sum.density += viscosity * (other.density - own.density);
            for (int k = 0; k < 3; k++)
                sum.momentum[k] += viscosity * (other.momentum[k] - own.momentum[k]);
            sum.energy += viscosity * (other.energy - own.energy);
            add_flow(sum, own, own_gas, normal, 0.5f);
            add_flow(sum, other, other_gas, normal, 0.5f);
        } else if (neighbour == WALL) {
            for (int k = 0; k < 3; k++)
                sum.momentum[k] += own_gas.pressure * normal[k];
        } else if (neighbour == FAR_FIELD) {
            const State outside = load(free_stream, 0, 1);
            add_flow(sum, own, own_gas, normal, 0.5f);
            add_flow(sum, outside, gas(outside), normal, 0.5f);
        }
    }
    fluxes[cell] = sum.density;
    for (int k = 0; k < 3; k++)
        fluxes[(1 + k) * stride + cell] = sum.momentum[k];
    fluxes[4 * stride + cell] = sum.energy;
}

extern "C" __global__ void time_step(int stage, const float *__restrict__ old_variables, float *__restrict__ variables,
                                     const float *__restrict__ step_factors, const float *__restrict__ fluxes,
                                     int stride)
{
    const int cell = blockIdx.x * blockDim.x + threadIdx.x;
    const float step = step_factors[cell] / (float)(STAGES - stage);
    for (int v = 0; v < VARIABLES; v++)
        variables[v * stride + cell] = old_variables[v * stride + cell] + step * fluxes[v * stride + cell];
}
