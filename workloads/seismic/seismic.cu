// Elastic waves in three dimensions: velocities and stresses on staggered grids, second order in space and time, with
// convolutional perfectly matched layers. x is the fastest index; cells of the outer border stay zero.
//
// Every derivative passes through its layer: a memory variable m follows m = b m + a d, and d + m takes the place of the
// derivative d. Outside the layers a is 0 and m stays 0. The coefficients of an axis of n cells are four rows of n: a and b
// for derivatives at whole cells, a and b for those half a cell on.

// No two arrays overlap.
typedef const float *__restrict__ In;
typedef float *__restrict__ Out;

// A thread works on a column of this many cells along z.
#define DEPTH 8

struct Column {
    int i, j;
    int first, end;
};

// The column of this thread without the cells of the border: empty where there are no others.
static __device__ Column column(int nx, int ny, int nz)
{
    Column c;
    c.i = blockIdx.x * blockDim.x + threadIdx.x;
    c.j = blockIdx.y * blockDim.y + threadIdx.y;
    const int begin = blockIdx.z * DEPTH;
    c.first = max(begin, 1);
    c.end = c.i > 0 && c.i < nx - 1 && c.j > 0 && c.j < ny - 1 ? min(begin + DEPTH, nz - 1) : 0;
    return c;
}

// The difference of two neighbours along an axis, at place p of it, with its memory variable.
static __device__ float derivative(float upper, float lower, float per_metre, In layer, int p, int n, Out memory,
                                   int at)
{
    const float d = (upper - lower) * per_metre;
    const float m = layer[n + p] * memory[at] + layer[p] * d;
    memory[at] = m;
    return d + m;
}

// The same for a derivative half a cell on.
static __device__ float derivative_half(float upper, float lower, float per_metre, In layer, int p, int n, Out memory,
                                        int at)
{
    return derivative(upper, lower, per_metre, layer + 2 * n, p, n, memory, at);
}

extern "C" __global__ void stress_normal(In vx, In vy, In vz, Out sxx, Out syy, Out szz, Out m_vx_x, Out m_vy_y,
                                         Out m_vz_z, In layer_x, In layer_y, In layer_z, int nx, int ny, int nz,
                                         float per_metre, float lambda_dt, float two_mu_dt)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float x = derivative_half(vx[at + 1], vx[at], per_metre, layer_x, c.i, nx, m_vx_x, at);
        const float y = derivative(vy[at], vy[at - nx], per_metre, layer_y, c.j, ny, m_vy_y, at);
        const float z = derivative(vz[at], vz[at - nx * ny], per_metre, layer_z, k, nz, m_vz_z, at);
        const float all = lambda_dt * (x + y + z);
        sxx[at] += all + two_mu_dt * x;
        syy[at] += all + two_mu_dt * y;
        szz[at] += all + two_mu_dt * z;
    }
}

extern "C" __global__ void stress_xy(In vx, In vy, Out sxy, Out m_vy_x, Out m_vx_y, In layer_x, In layer_y, int nx,
                                     int ny, int nz, float per_metre, float mu_dt)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float x = derivative(vy[at], vy[at - 1], per_metre, layer_x, c.i, nx, m_vy_x, at);
        const float y = derivative_half(vx[at + nx], vx[at], per_metre, layer_y, c.j, ny, m_vx_y, at);
        sxy[at] += mu_dt * (x + y);
    }
}

extern "C" __global__ void stress_xz(In vx, In vz, Out sxz, Out m_vz_x, Out m_vx_z, In layer_x, In layer_z, int nx,
                                     int ny, int nz, float per_metre, float mu_dt)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float x = derivative(vz[at], vz[at - 1], per_metre, layer_x, c.i, nx, m_vz_x, at);
        const float z = derivative_half(vx[at + nx * ny], vx[at], per_metre, layer_z, k, nz, m_vx_z, at);
        sxz[at] += mu_dt * (x + z);
    }
}

extern "C" __global__ void stress_yz(In vy, In vz, Out syz, Out m_vz_y, Out m_vy_z, In layer_y, In layer_z, int nx,
                                     int ny, int nz, float per_metre, float mu_dt)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float y = derivative_half(vz[at + nx], vz[at], per_metre, layer_y, c.j, ny, m_vz_y, at);
        const float z = derivative_half(vy[at + nx * ny], vy[at], per_metre, layer_z, k, nz, m_vy_z, at);
        syz[at] += mu_dt * (y + z);
    }
}

extern "C" __global__ void velocity_x(Out vx, In sxx, In sxy, In sxz, Out m_sxx_x, Out m_sxy_y, Out m_sxz_z,
                                      In layer_x, In layer_y, In layer_z, int nx, int ny, int nz, float per_metre,
                                      float dt_over_rho)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float x = derivative(sxx[at], sxx[at - 1], per_metre, layer_x, c.i, nx, m_sxx_x, at);
        const float y = derivative(sxy[at], sxy[at - nx], per_metre, layer_y, c.j, ny, m_sxy_y, at);
        const float z = derivative(sxz[at], sxz[at - nx * ny], per_metre, layer_z, k, nz, m_sxz_z, at);
        vx[at] += dt_over_rho * (x + y + z);
    }
}

extern "C" __global__ void velocity_y(Out vy, In sxy, In syy, In syz, Out m_sxy_x, Out m_syy_y, Out m_syz_z,
                                      In layer_x, In layer_y, In layer_z, int nx, int ny, int nz, float per_metre,
                                      float dt_over_rho)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float x = derivative_half(sxy[at + 1], sxy[at], per_metre, layer_x, c.i, nx, m_sxy_x, at);
        const float y = derivative_half(syy[at + nx], syy[at], per_metre, layer_y, c.j, ny, m_syy_y, at);
        const float z = derivative(syz[at], syz[at - nx * ny], per_metre, layer_z, k, nz, m_syz_z, at);
        vy[at] += dt_over_rho * (x + y + z);
    }
}

extern "C" __global__ void velocity_z(Out vz, In sxz, In syz, In szz, Out m_sxz_x, Out m_syz_y, Out m_szz_z,
                                      In layer_x, In layer_y, In layer_z, int nx, int ny, int nz, float per_metre,
                                      float dt_over_rho)
{
    const Column c = column(nx, ny, nz);
    for (int k = c.first, at = (k * ny + c.j) * nx + c.i; k < c.end; k++, at += nx * ny) {
        const float x = derivative_half(sxz[at + 1], sxz[at], per_metre, layer_x, c.i, nx, m_sxz_x, at);
        const float y = derivative(syz[at], syz[at - nx], per_metre, layer_y, c.j, ny, m_syz_y, at);
        const float z = derivative_half(szz[at + nx * ny], szz[at], per_metre, layer_z, k, nz, m_szz_z, at);
        vz[at] += dt_over_rho * (x + y + z);
    }
}

// A force at one cell, in the plane of x and y: what it adds to the velocities in each step stands in a table.
extern "C" __global__ void add_source(float *vx, float *vy, const float *__restrict__ pushes, int step, int at)
{
    if (threadIdx.x == 0) {
        vx[at] += pushes[2 * step];
        vy[at] += pushes[2 * step + 1];
    }
}
