// Waves of one frequency on a flow: five complex amplitudes, each carried along every axis with its own speed (v, v + c
// or v - c), spread by diffusion and damped by fourth differences. Iterations are factored by axis; each factor leaves
// penta-diagonal systems with complex coefficients on every line.
//
// Near the boundary, derivatives are divided by a complex number that grows inwards (`stretch` holds its inverse): waves
// fade there instead of being reflected.

#include "../navier_stokes.cuh"

struct alignas(16) Complex {
    double re, im;
};

__device__ static Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ static Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ static Complex operator*(double s, Complex a) { return {s * a.re, s * a.im}; }
__device__ static Complex operator*(Complex a, Complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ static Complex inverse_of(Complex a)
{
    const double scale = 1.0 / (a.re * a.re + a.im * a.im);
    return {scale * a.re, -scale * a.im};
}

// How far a wave travels with sound: the fourth with it, the fifth against it.
__device__ static double with_sound(int m) { return m == 3 ? 1.0 : m == 4 ? -1.0 : 0.0; }

// Subtracts the operator along one axis, times the pseudo time step; the first axis starts from the forcing.
template <int AXIS>
__device__ static void subtract_operator(const Complex *q, const Complex *forcing, Complex *rhs, const double *velocity,
                                         const double *rho_i, const double *speed, const Complex *stretch,
                                         double frequency, double dt, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), step = stride_of<AXIS>(row), size = n * row * row, at = along<AXIS>(p);
    const double inverse = n - 1, half = 0.5 * inverse, second = inverse * inverse;
    const double d0 = diffusion<AXIS>(), heat = C1C5 * C3C4;
    const double spread_low = second * (d0 + heat * rho_i[cell - step]);
    const double spread = second * (d0 + heat * rho_i[cell]);
    const double spread_high = second * (d0 + heat * rho_i[cell + step]);
    const double v_low = velocity[cell - step], v_high = velocity[cell + step];
    const double c_low = speed[cell - step], c_high = speed[cell + step];
    const Complex shrink = stretch[at];
#pragma unroll
    for (int m = 0; m < 5; ++m) {
        const Complex *qm = q + m * size + cell;
        const Complex here = qm[0], low = qm[-step], high = qm[step];
        const double carry_low = half * (v_low + with_sound(m) * c_low);
        const double carry_high = half * (v_high + with_sound(m) * c_high);
        const Complex moved = (carry_high - spread_high) * high - (carry_low + spread_low) * low + 2.0 * spread * here;
        Complex fourth = (at == 1 || at == n - 2 ? 5.0 : 6.0) * here;
        if (at > 1)
            fourth = fourth - 4.0 * low;
        if (at > 2)
            fourth = fourth + qm[-2 * step];
        if (at < n - 2)
            fourth = fourth - 4.0 * high;
        if (at < n - 3)
            fourth = fourth + qm[2 * step];
        const Complex turned = {-frequency / 3.0 * here.im, frequency / 3.0 * here.re};
        const Complex change = dt * (shrink * moved + DSSP * fourth + turned);
        const Complex start = AXIS == 0 ? dt * forcing[m * size + cell] : rhs[m * size + cell];
        rhs[m * size + cell] = start - change;
    }
}

// The three matrices of one axis, five diagonals each, lowest first. The ends of lines keep their values.
template <int AXIS>
__device__ static void build(Complex *lhs, Complex *lhsp, Complex *lhsm, const double *velocity, const double *rho_i,
                             const double *speed, const Complex *stretch, double frequency, double dt, int n, int row)
{
    const Point p = point_of_thread();
    if (p.i >= n || p.j >= n)
        return;
    const int cell = cell_of(p, row), step = stride_of<AXIS>(row), size = n * row * row, at = along<AXIS>(p);
    Complex d[5] = {{0.0, 0.0}, {0.0, 0.0}, {1.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}};
    Complex sound_low = {0.0, 0.0}, sound_high = {0.0, 0.0};
    if (at > 0 && at < n - 1) {
        const double inverse = n - 1, first = 0.5 * dt * inverse, second = dt * inverse * inverse;
        const double d0 = diffusion<AXIS>(), heat = C1C5 * C3C4, fourth = dt * DSSP;
        const Complex shrink = stretch[at];
        d[1] = (-first * velocity[cell - step] - second * (d0 + heat * rho_i[cell - step])) * shrink;
        d[2] = 2.0 * second * (d0 + heat * rho_i[cell]) * shrink;
        d[3] = (first * velocity[cell + step] - second * (d0 + heat * rho_i[cell + step])) * shrink;
        sound_low = first * speed[cell - step] * shrink;
        sound_high = first * speed[cell + step] * shrink;
        d[2].re += 1.0 + (at == 1 || at == n - 2 ? 5.0 : 6.0) * fourth;
        d[2].im += dt * frequency / 3.0;
        if (at > 1)
            d[1].re -= 4.0 * fourth;
        if (at > 2)
            d[0].re = fourth;
        if (at < n - 2)
            d[3].re -= 4.0 * fourth;
        if (at < n - 3)
            d[4].re = fourth;
    }
#pragma unroll
    for (int m = 0; m < 5; ++m) {
        lhs[m * size + cell] = d[m];
        lhsp[m * size + cell] = m == 1 ? d[m] - sound_low : m == 3 ? d[m] + sound_high : d[m];
        lhsm[m * size + cell] = m == 1 ? d[m] + sound_low : m == 3 ? d[m] - sound_high : d[m];
    }
}

// Gaussian elimination along one line for RHS right-hand sides, then back. The eliminated matrix stays in memory.
template <int RHS>
__device__ static void eliminate(Complex *lhs, Complex *rhs, int cell, int step, int size, int n)
{
    Complex above1 = {}, high1 = {}, above2 = {}, high2 = {}, before1[RHS] = {}, before2[RHS] = {};
    for (int at = 0; at < n; ++at, cell += step) {
        const Complex low = lhs[cell];
        const Complex below = lhs[size + cell] - low * above2;
        const Complex pivot = lhs[2 * size + cell] - low * high2 - below * above1;
        const Complex inverse = inverse_of(pivot);
        const Complex above = (lhs[3 * size + cell] - below * high1) * inverse;
        const Complex high = lhs[4 * size + cell] * inverse;
        lhs[size + cell] = below;
        lhs[2 * size + cell] = pivot;
        lhs[3 * size + cell] = above;
        lhs[4 * size + cell] = high;
        above2 = above1;
        high2 = high1;
        above1 = above;
        high1 = high;
#pragma unroll
        for (int m = 0; m < RHS; ++m) {
            const Complex value = (rhs[m * size + cell] - low * before2[m] - below * before1[m]) * inverse;
            rhs[m * size + cell] = value;
            before2[m] = before1[m];
            before1[m] = value;
        }
    }
    Complex after1[RHS] = {}, after2[RHS] = {};
    for (int at = 0; at < n; ++at) {
        cell -= step;
        const Complex above = lhs[3 * size + cell], high = lhs[4 * size + cell];
#pragma unroll
        for (int m = 0; m < RHS; ++m) {
            const Complex value = rhs[m * size + cell] - above * after1[m] - high * after2[m];
            rhs[m * size + cell] = value;
            after2[m] = after1[m];
            after1[m] = value;
        }
    }
}

// One thread per line and matrix: the third index of a block chooses the matrix.
template <int AXIS>
__device__ static void solve(Complex *lhs, Complex *lhsp, Complex *lhsm, Complex *rhs, int n, int row)
{
    bool there;
    const int cell = line_of_thread<AXIS>(row, &there, n), step = stride_of<AXIS>(row), size = n * row * row;
    if (!there)
        return;
    if (blockIdx.z == 0)
        eliminate<3>(lhs, rhs, cell, step, size, n);
    else if (blockIdx.z == 1)
        eliminate<1>(lhsp, rhs + 3 * size, cell, step, size, n);
    else
        eliminate<1>(lhsm, rhs + 4 * size, cell, step, size, n);
}

#define KERNELS(rhs_name, lhs_name, solve_name, AXIS)                                                                  \
    extern "C" __global__ void rhs_name(const Complex *q, const Complex *forcing, Complex *rhs,                        \
                                        const double *velocity, const double *rho_i, const double *speed,              \
                                        const Complex *stretch, double frequency, double dt, int n, int row)           \
    {                                                                                                                  \
        subtract_operator<AXIS>(q, forcing, rhs, velocity, rho_i, speed, stretch, frequency, dt, n, row);              \
    }                                                                                                                  \
    extern "C" __global__ void lhs_name(Complex *lhs, Complex *lhsp, Complex *lhsm, const double *velocity,            \
                                        const double *rho_i, const double *speed, const Complex *stretch,              \
                                        double frequency, double dt, int n, int row)                                   \
    {                                                                                                                  \
        build<AXIS>(lhs, lhsp, lhsm, velocity, rho_i, speed, stretch, frequency, dt, n, row);                          \
    }                                                                                                                  \
    extern "C" __global__ void solve_name(Complex *lhs, Complex *lhsp, Complex *lhsm, Complex *rhs, int n, int row)    \
    {                                                                                                                  \
        solve<AXIS>(lhs, lhsp, lhsm, rhs, n, row);                                                                     \
    }

KERNELS(rhs_x, lhs_x, x_solve, 0)
KERNELS(rhs_y, lhs_y, y_solve, 1)
KERNELS(rhs_z, lhs_z, z_solve, 2)

extern "C" __global__ void add(Complex *q, const Complex *rhs, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
#pragma unroll
    for (int m = 0; m < 5; ++m)
        q[m * size + cell] = q[m * size + cell] + rhs[m * size + cell];
}
