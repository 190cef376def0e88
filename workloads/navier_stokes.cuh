// What the solvers of the compressible Navier-Stokes equations share: the grid and the constants.
//
// A grid has n points along each edge. Arrays are component by component, each plane by plane and row by row; planes and
// rows are padded to `row` points (n rounded down to an even number, and one more), as in the published programs.

#pragma once

// Gas: heat capacities, viscosity and heat conduction, in the published units.
#define C1 1.4
#define C2 0.4
#define C1C2 (C1 * C2)
#define C1C5 (1.4 * 1.4)
#define C3C4 0.1
#define CON43 (4.0 / 3.0)
// Strength of the fourth differences that keep the scheme stable.
#define DSSP 0.25

// Coefficients of the second differences along one axis.
template <int AXIS> __device__ constexpr double diffusion() { return AXIS == 2 ? 1.0 : 0.75; }

// Points between neighbours along one axis.
template <int AXIS> __device__ int stride_of(int row) { return AXIS == 0 ? 1 : AXIS == 1 ? row : row * row; }

// The point of a thread: x along the block, y and z from the grid.
struct Point {
    int i, j, k;
};

__device__ static Point point_of_thread()
{
    return {(int)(blockIdx.x * blockDim.x + threadIdx.x), (int)(blockIdx.y * blockDim.y + threadIdx.y), (int)blockIdx.z};
}

__device__ static bool inside(Point p, int n)
{
    return p.i > 0 && p.j > 0 && p.k > 0 && p.i < n - 1 && p.j < n - 1 && p.k < n - 1;
}

__device__ static int cell_of(Point p, int row)
{
    return (p.k * row + p.j) * row + p.i;
}

template <int AXIS> __device__ static int along(Point p) { return AXIS == 0 ? p.i : AXIS == 1 ? p.j : p.k; }

// The first point of the line of a thread along one axis: lines lie in the middle of the other two.
template <int AXIS> __device__ static int line_of_thread(int row, bool *there, int n)
{
    const int a = blockIdx.x * blockDim.x + threadIdx.x + 1, b = blockIdx.y + 1;
    *there = a < n - 1;
    return a * (AXIS == 0 ? row : 1) + b * (AXIS == 2 ? row : row * row);
}
