// The spatial operator of the compressible Navier-Stokes equations, and the kernels that add it to the right-hand side.

#pragma once

#include "navier_stokes.cuh"

// Velocities, kinetic energy per mass and per volume, inverse density at each point.
struct Primitives {
    const double *us, *vs, *ws, *qs, *rho_i, *square;
};

// The fourth difference at place `at` of a line, one-sided beside the ends of the line.
__device__ static double fourth_difference(const double *u, int step, int at, int n)
{
    if (at == 1)
        return 5.0 * u[0] - 4.0 * u[step] + u[2 * step];
    if (at == n - 2)
        return u[-2 * step] - 4.0 * u[-step] + 5.0 * u[0];
    const double middle = 6.0 * u[0] - 4.0 * (u[-step] + u[step]);
    return at == 2 ? middle + u[2 * step] : at == n - 3 ? middle + u[-2 * step] : middle + u[-2 * step] + u[2 * step];
}

// Adds the derivatives along one axis to the right-hand side of one point: diffusion, viscosity, convection, pressure.
template <int AXIS>
__device__ static void add_derivatives(const double *u, Primitives p, double *rhs, int cell, int at, int n, int row)
{
    const int step = stride_of<AXIS>(row), size = n * row * row;
    const int next = cell + step, last = cell - step;
    const double inverse = n - 1, half = 0.5 * inverse;
    const double second = diffusion<AXIS>() * inverse * inverse, viscous = C3C4 * inverse * inverse;
    const double *normal = AXIS == 0 ? p.us : AXIS == 1 ? p.vs : p.ws;
    const double ahead = normal[next], here = normal[cell], behind = normal[last];
    const double e_ahead = u[4 * size + next], e_behind = u[4 * size + last];
    const double s_ahead = p.square[next], s_behind = p.square[last];
#pragma unroll
    for (int m = 0; m < 5; ++m) {
        const double *um = u + m * size;
        double value = second * (um[next] - 2.0 * um[cell] + um[last]) - DSSP * fourth_difference(um + cell, step, at, n);
        if (m == 0) {
            value -= half * (u[(AXIS + 1) * size + next] - u[(AXIS + 1) * size + last]);
        } else if (m < 4) {
            const double *w = m == 1 ? p.us : m == 2 ? p.vs : p.ws;
            const bool along = m == AXIS + 1;
            value += (along ? CON43 : 1.0) * viscous * (w[next] - 2.0 * w[cell] + w[last]);
            value -= half * (um[next] * ahead - um[last] * behind);
            if (along)
                value -= half * C2 * (e_ahead - s_ahead - e_behind + s_behind);
        } else {
            value += (1.0 - C1C5) * viscous * (p.qs[next] - 2.0 * p.qs[cell] + p.qs[last]);
            value += viscous / 6.0 * (ahead * ahead - 2.0 * here * here + behind * behind);
            value += C1C5 * viscous
                   * (e_ahead * p.rho_i[next] - 2.0 * um[cell] * p.rho_i[cell] + e_behind * p.rho_i[last]);
            value -= half * ((C1 * e_ahead - C2 * s_ahead) * ahead - (C1 * e_behind - C2 * s_behind) * behind);
        }
        rhs[m * size + cell] += value;
    }
}

template <int AXIS> __device__ static void rhs_along(const double *u, Primitives primitives, double *rhs, int n, int row)
{
    const Point p = point_of_thread();
    if (inside(p, n))
        add_derivatives<AXIS>(u, primitives, rhs, cell_of(p, row), along<AXIS>(p), n, row);
}

#define RHS(name, AXIS)                                                                                                \
    extern "C" __global__ void name(const double *u, const double *us, const double *vs, const double *ws,             \
                                    const double *qs, const double *rho_i, const double *square, double *rhs, int n,   \
                                    int row)                                                                           \
    {                                                                                                                  \
        rhs_along<AXIS>(u, {us, vs, ws, qs, rho_i, square}, rhs, n, row);                                              \
    }

RHS(rhs_x, 0)
RHS(rhs_y, 1)
RHS(rhs_z, 2)
