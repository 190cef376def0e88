// The compressible Navier-Stokes equations by an approximate factorisation that leaves three independent scalar
// penta-diagonal systems on every line: five unknowns share three matrices (speeds v, v + c, v - c).

#include "../navier_stokes_rhs.cuh"

#define BT 0.70710678118654752440

// Velocities, pressures and sound speed from the conserved quantities; the right-hand side starts as the forcing.
extern "C" __global__ void compute_primitives(const double *u, const double *forcing, double *rhs, double *us,
                                              double *vs, double *ws, double *qs, double *rho_i, double *speed,
                                              double *square, int n, int row)
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
    speed[cell] = sqrt(C1C2 * inverse * (u[4 * size + cell] - kinetic));
#pragma unroll
    for (int m = 0; m < 5; ++m)
        rhs[m * size + cell] = forcing[m * size + cell];
}

// Multiplies by the time step and goes over to the characteristic variables of the x direction.
extern "C" __global__ void txinvr(double *rhs, const double *us, const double *vs, const double *ws, const double *qs,
                                  const double *rho_i, const double *speed, double dt, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
    double r[5];
#pragma unroll
    for (int m = 0; m < 5; ++m)
        r[m] = dt * rhs[m * size + cell];
    const double inverse = rho_i[cell], sound = speed[cell];
    const double uu = us[cell], vv = vs[cell], ww = ws[cell];
    const double t1 = C2 / (sound * sound) * (qs[cell] * r[0] - uu * r[1] - vv * r[2] - ww * r[3] + r[4]);
    const double t2 = BT * inverse * (uu * r[0] - r[1]);
    const double t3 = BT * inverse * sound * t1;
    rhs[cell] = r[0] - t1;
    rhs[size + cell] = -inverse * (ww * r[0] - r[3]);
    rhs[2 * size + cell] = inverse * (vv * r[0] - r[2]);
    rhs[3 * size + cell] = -t2 + t3;
    rhs[4 * size + cell] = t2 + t3;
}

// The three matrices of one axis, five diagonals each, lowest first. The ends of lines keep their values.
template <int AXIS>
__device__ static void build(double *lhs, double *lhsp, double *lhsm, const double *velocity, const double *rho_i,
                             const double *speed, double dt, int n, int row)
{
    const Point p = point_of_thread();
    if (p.i >= n || p.j >= n)
        return;
    const int cell = cell_of(p, row), step = stride_of<AXIS>(row), size = n * row * row, at = along<AXIS>(p);
    double d[5] = {0.0, 0.0, 1.0, 0.0, 0.0};
    double sound_low = 0.0, sound_high = 0.0;
    if (at > 0 && at < n - 1) {
        const double inverse = n - 1, first = 0.5 * dt * inverse, second = dt * inverse * inverse;
        // The largest of the diffusion coefficients of the five equations is that of heat.
        const double d0 = diffusion<AXIS>(), heat = C1C5 * C3C4, fourth = dt * DSSP;
        d[1] = -first * velocity[cell - step] - second * (d0 + heat * rho_i[cell - step]);
        d[2] = 1.0 + 2.0 * second * (d0 + heat * rho_i[cell]);
        d[3] = first * velocity[cell + step] - second * (d0 + heat * rho_i[cell + step]);
        sound_low = first * speed[cell - step];
        sound_high = first * speed[cell + step];
        d[2] += (at == 1 || at == n - 2 ? 5.0 : 6.0) * fourth;
        if (at > 1)
            d[1] -= 4.0 * fourth;
        if (at > 2)
            d[0] = fourth;
        if (at < n - 2)
            d[3] -= 4.0 * fourth;
        if (at < n - 3)
            d[4] = fourth;
    }
#pragma unroll
    for (int m = 0; m < 5; ++m) {
        lhs[m * size + cell] = d[m];
        lhsp[m * size + cell] = m == 1 ? d[m] - sound_low : m == 3 ? d[m] + sound_high : d[m];
        lhsm[m * size + cell] = m == 1 ? d[m] + sound_low : m == 3 ? d[m] - sound_high : d[m];
    }
}

#define LHS(name, AXIS)                                                                                                \
    extern "C" __global__ void name(double *lhs, double *lhsp, double *lhsm, const double *velocity,                   \
                                    const double *rho_i, const double *speed, double dt, int n, int row)               \
    {                                                                                                                  \
        build<AXIS>(lhs, lhsp, lhsm, velocity, rho_i, speed, dt, n, row);                                              \
    }

LHS(lhs_x, 0)
LHS(lhs_y, 1)
LHS(lhs_z, 2)

// Gaussian elimination along one line for RHS right-hand sides, then back. The eliminated matrix stays in memory.
template <int RHS>
__device__ static void eliminate(double *lhs, double *rhs, int cell, int step, int size, int n)
{
    double upper1[2] = {0.0, 0.0}, upper2[2] = {0.0, 0.0}, before1[RHS] = {}, before2[RHS] = {};
    for (int at = 0; at < n; ++at, cell += step) {
        const double low = lhs[cell];
        const double below = lhs[size + cell] - low * upper2[0];
        const double pivot = lhs[2 * size + cell] - low * upper2[1] - below * upper1[0];
        const double inverse = 1.0 / pivot;
        const double above = (lhs[3 * size + cell] - below * upper1[1]) * inverse;
        const double high = lhs[4 * size + cell] * inverse;
        lhs[size + cell] = below;
        lhs[2 * size + cell] = pivot;
        lhs[3 * size + cell] = above;
        lhs[4 * size + cell] = high;
        upper2[0] = upper1[0];
        upper2[1] = upper1[1];
        upper1[0] = above;
        upper1[1] = high;
#pragma unroll
        for (int m = 0; m < RHS; ++m) {
            const double value = (rhs[m * size + cell] - low * before2[m] - below * before1[m]) * inverse;
            rhs[m * size + cell] = value;
            before2[m] = before1[m];
            before1[m] = value;
        }
    }
    double after1[RHS] = {}, after2[RHS] = {};
    for (int at = 0; at < n; ++at) {
        cell -= step;
        const double above = lhs[3 * size + cell], high = lhs[4 * size + cell];
#pragma unroll
        for (int m = 0; m < RHS; ++m) {
            const double value = rhs[m * size + cell] - above * after1[m] - high * after2[m];
            rhs[m * size + cell] = value;
            after2[m] = after1[m];
            after1[m] = value;
        }
    }
}

// One thread per line and matrix: the third index of a block chooses the matrix.
template <int AXIS>
__device__ static void solve(double *lhs, double *lhsp, double *lhsm, double *rhs, int n, int row)
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

#define SOLVE(name, AXIS)                                                                                              \
    extern "C" __global__ void name(double *lhs, double *lhsp, double *lhsm, double *rhs, int n, int row)              \
    {                                                                                                                  \
        solve<AXIS>(lhs, lhsp, lhsm, rhs, n, row);                                                                     \
    }

SOLVE(x_solve, 0)
SOLVE(y_solve, 1)
SOLVE(z_solve, 2)

// From the characteristic variables of x to those of y.
extern "C" __global__ void ninvr(double *rhs, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
    const double r1 = rhs[cell], r2 = rhs[size + cell], r3 = rhs[2 * size + cell];
    const double r4 = rhs[3 * size + cell], r5 = rhs[4 * size + cell];
    const double t1 = BT * r3, t2 = 0.5 * (r4 + r5);
    rhs[cell] = -r2;
    rhs[size + cell] = r1;
    rhs[2 * size + cell] = BT * (r4 - r5);
    rhs[3 * size + cell] = t2 - t1;
    rhs[4 * size + cell] = t1 + t2;
}

// From the characteristic variables of y to those of z.
extern "C" __global__ void pinvr(double *rhs, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
    const double r1 = rhs[cell], r2 = rhs[size + cell], r3 = rhs[2 * size + cell];
    const double r4 = rhs[3 * size + cell], r5 = rhs[4 * size + cell];
    const double t1 = BT * r1, t2 = 0.5 * (r4 + r5);
    rhs[cell] = BT * (r4 - r5);
    rhs[size + cell] = -r3;
    rhs[2 * size + cell] = r2;
    rhs[3 * size + cell] = t2 - t1;
    rhs[4 * size + cell] = t1 + t2;
}

// From the characteristic variables of z back to the conserved quantities.
extern "C" __global__ void tzetar(double *rhs, const double *u, const double *us, const double *vs, const double *ws,
                                  const double *qs, const double *speed, int n, int row)
{
    const Point p = point_of_thread();
    if (!inside(p, n))
        return;
    const int cell = cell_of(p, row), size = n * row * row;
    const double r1 = rhs[cell], r2 = rhs[size + cell], r3 = rhs[2 * size + cell];
    const double r4 = rhs[3 * size + cell], r5 = rhs[4 * size + cell];
    const double density = u[cell], sound = speed[cell];
    const double uu = us[cell], vv = vs[cell], ww = ws[cell];
    const double t1 = BT * density / sound * (r4 + r5);
    const double t2 = r3 + t1;
    const double t3 = BT * density * (r4 - r5);
    rhs[cell] = t2;
    rhs[size + cell] = -density * r2 + uu * t2;
    rhs[2 * size + cell] = density * r1 + vv * t2;
    rhs[3 * size + cell] = ww * t2 + t3;
    rhs[4 * size + cell] = density * (vv * r1 - uu * r2) + qs[cell] * t2 + sound * sound / C2 * t1 + ww * t3;
}

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
