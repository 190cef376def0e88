// The compressible Navier-Stokes equations by an approximate factorisation that leaves block tri-diagonal systems, with
// blocks of 5x5, on every line.
//
// A block's entry (r, c) at a point stands at [(5 r + c) * size + cell]; `lhs` holds the blocks before, at and after each
// point one after another. Points of the Jacobians' arrays are those of one axis at a time.

#include "../navier_stokes_rhs.cuh"

#define BLOCK 25

extern "C" __global__ void compute_primitives(const double *u, const double *forcing, double *rhs, double *us,
                                              double *vs, double *ws, double *qs, double *rho_i, double *square, int n,
                                              int row)
{
    const Point p = point_of_thread();
    if (p.i >= n || p.j >= n)
        return;
    const int cell = cell_of(p, row), size = n * row * row;
    const double inverse = 1.0 / u[cell];
    const double mx = u[size + cell], my = u[2 * size + cell], mz = u[3 * size + cell];
    const double kinetic = 0.5 * (mx * mx + my * my + mz * mz) * inverse;
    rho_i[cell] = inverse;
    us[cell] = mx * inverse;
    vs[cell] = my * inverse;
    ws[cell] = mz * inverse;
    square[cell] = kinetic;
    qs[cell] = kinetic * inverse;
#pragma unroll
    for (int m = 0; m < 5; ++m)
        rhs[m * size + cell] = forcing[m * size + cell];
}

extern "C" __global__ void scale_rhs(double *rhs, double dt, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
#pragma unroll
    for (int m = 0; m < 5; ++m)
        rhs[m * size + cell] *= dt;
}

// How the flux along an axis (fjac) and what viscosity and heat conduction act on (njac) change with the gas.
template <int AXIS>
__device__ static void jacobians(const double *u, Primitives primitives, double *fjac, double *njac, int n, int row)
{
    const Point p = point_of_thread();
    if (p.i >= n || p.j >= n)
        return;
    const int cell = cell_of(p, row), size = n * row * row;
    const double inverse = primitives.rho_i[cell], kinetic = primitives.qs[cell];
    const double v[3] = {primitives.us[cell], primitives.vs[cell], primitives.ws[cell]};
    const double energy = u[4 * size + cell] * inverse, normal = v[AXIS];
    const double conduction = C1C5 * C3C4;
#pragma unroll
    for (int r = 0; r < 5; ++r) {
#pragma unroll
        for (int c = 0; c < 5; ++c) {
            double f = 0.0, d = 0.0;
            const int i = r - 1, j = c - 1;
            if (r == 0) {
                f = j == AXIS ? 1.0 : 0.0;
            } else if (r < 4) {
                const double viscosity = (i == AXIS ? CON43 : 1.0) * C3C4;
                if (c == 0) {
                    f = (i == AXIS ? C2 * kinetic : 0.0) - v[i] * normal;
                    d = -viscosity * v[i] * inverse;
                } else if (c < 4) {
                    f = (j == AXIS ? v[i] : 0.0) + (j == i ? normal : 0.0) - (i == AXIS ? C2 * v[j] : 0.0);
                    d = j == i ? viscosity * inverse : 0.0;
                } else {
                    f = i == AXIS ? C2 : 0.0;
                }
            } else if (c == 0) {
                f = (2.0 * C2 * kinetic - C1 * energy) * normal;
                double work = 0.0;
#pragma unroll
                for (int a = 0; a < 3; ++a)
                    work += ((a == AXIS ? CON43 : 1.0) * C3C4 - conduction) * v[a] * v[a];
                d = -(work + conduction * energy) * inverse;
            } else if (c < 4) {
                f = (j == AXIS ? C1 * energy - C2 * kinetic : 0.0) - C2 * v[j] * normal;
                d = ((j == AXIS ? CON43 : 1.0) * C3C4 - conduction) * v[j] * inverse;
            } else {
                f = C1 * normal;
                d = conduction * inverse;
            }
            fjac[(5 * r + c) * size + cell] = f;
            njac[(5 * r + c) * size + cell] = d;
        }
    }
}

// The three blocks of each point from the Jacobians of its neighbours. The ends of lines keep their values.
template <int AXIS>
__device__ static void assemble(const double *fjac, const double *njac, double *lhs, double dt, int n, int row)
{
    const Point p = point_of_thread();
    if (p.i >= n || p.j >= n)
        return;
    const int cell = cell_of(p, row), step = stride_of<AXIS>(row), size = n * row * row, at = along<AXIS>(p);
    const bool middle = at > 0 && at < n - 1;
    const double inverse = n - 1, first = 0.5 * dt * inverse, second = dt * inverse * inverse;
#pragma unroll 5
    for (int entry = 0; entry < BLOCK; ++entry) {
        const double one = entry % 6 == 0 ? 1.0 : 0.0;
        double before = 0.0, here = one, after = 0.0;
        if (middle) {
            const double *f = fjac + entry * size + cell, *d = njac + entry * size + cell;
            const double spread = one * diffusion<AXIS>();
            before = -first * f[-step] - second * (d[-step] + spread);
            here = one + 2.0 * second * (d[0] + spread);
            after = first * f[step] - second * (d[step] + spread);
        }
        lhs[entry * size + cell] = before;
        lhs[(BLOCK + entry) * size + cell] = here;
        lhs[(2 * BLOCK + entry) * size + cell] = after;
    }
}

// Elimination of blocks along one line, then back, one thread per line. The eliminated blocks stay in memory.
template <int AXIS> __device__ static void solve(double *lhs, double *rhs, int n, int row)
{
    bool there;
    int cell = line_of_thread<AXIS>(row, &there, n);
    const int step = stride_of<AXIS>(row), size = n * row * row;
    if (!there)
        return;
    double after[5][5] = {}, value[5] = {};
    for (int at = 0; at < n; ++at, cell += step) {
        double here[5][5], right[5];
#pragma unroll
        for (int r = 0; r < 5; ++r) {
            right[r] = rhs[r * size + cell];
#pragma unroll
            for (int c = 0; c < 5; ++c)
                here[r][c] = lhs[(BLOCK + 5 * r + c) * size + cell];
        }
        // What the point before leaves of this row of blocks.
#pragma unroll
        for (int r = 0; r < 5; ++r)
#pragma unroll
            for (int k = 0; k < 5; ++k) {
                const double before = lhs[(5 * r + k) * size + cell];
                right[r] -= before * value[k];
#pragma unroll
                for (int c = 0; c < 5; ++c)
                    here[r][c] -= before * after[k][c];
            }
#pragma unroll
        for (int r = 0; r < 5; ++r) {
            value[r] = right[r];
#pragma unroll
            for (int c = 0; c < 5; ++c)
                after[r][c] = lhs[(2 * BLOCK + 5 * r + c) * size + cell];
        }
        // Gauss-Jordan elimination of the middle block; it is dominated by its diagonal and needs no pivoting.
#pragma unroll
        for (int k = 0; k < 5; ++k) {
            const double inverse = 1.0 / here[k][k];
            value[k] *= inverse;
#pragma unroll
            for (int c = 0; c < 5; ++c) {
                here[k][c] = c > k ? here[k][c] * inverse : here[k][c];
                after[k][c] *= inverse;
            }
#pragma unroll
            for (int r = 0; r < 5; ++r) {
                if (r == k)
                    continue;
                const double factor = here[r][k];
                value[r] -= factor * value[k];
#pragma unroll
                for (int c = 0; c < 5; ++c) {
                    if (c > k)
                        here[r][c] -= factor * here[k][c];
                    after[r][c] -= factor * after[k][c];
                }
            }
        }
#pragma unroll
        for (int r = 0; r < 5; ++r) {
            rhs[r * size + cell] = value[r];
#pragma unroll
            for (int c = 0; c < 5; ++c) {
                lhs[(BLOCK + 5 * r + c) * size + cell] = here[r][c];
                lhs[(2 * BLOCK + 5 * r + c) * size + cell] = after[r][c];
            }
        }
    }
    // `value` holds the last point's unknowns.
    cell -= step;
    for (int at = n - 1; at > 0; --at) {
        cell -= step;
        double next[5];
#pragma unroll
        for (int r = 0; r < 5; ++r) {
            next[r] = rhs[r * size + cell];
#pragma unroll
            for (int c = 0; c < 5; ++c)
                next[r] -= lhs[(2 * BLOCK + 5 * r + c) * size + cell] * value[c];
        }
#pragma unroll
        for (int r = 0; r < 5; ++r) {
            value[r] = next[r];
            rhs[r * size + cell] = next[r];
        }
    }
}

#define KERNELS(jacobians_name, lhs_name, solve_name, AXIS)                                                            \
    extern "C" __global__ void jacobians_name(const double *u, const double *us, const double *vs, const double *ws,   \
                                              const double *qs, const double *rho_i, const double *square,             \
                                              double *fjac, double *njac, int n, int row)                              \
    {                                                                                                                  \
        jacobians<AXIS>(u, {us, vs, ws, qs, rho_i, square}, fjac, njac, n, row);                                       \
    }                                                                                                                  \
    extern "C" __global__ void lhs_name(const double *fjac, const double *njac, double *lhs, double dt, int n,         \
                                        int row)                                                                       \
    {                                                                                                                  \
        assemble<AXIS>(fjac, njac, lhs, dt, n, row);                                                                   \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(64) solve_name(double *lhs, double *rhs, int n, int row)              \
    {                                                                                                                  \
        solve<AXIS>(lhs, rhs, n, row);                                                                                 \
    }

KERNELS(jacobians_x, lhs_x, x_solve, 0)
KERNELS(jacobians_y, lhs_y, y_solve, 1)
KERNELS(jacobians_z, lhs_z, z_solve, 2)

extern "C" __global__ void add(double *u, const double *rhs, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
#pragma unroll
    for (int m = 0; m < 5; ++m)
        u[m * size + cell] += rhs[m * size + cell];
}
