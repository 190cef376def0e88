// Lagrangian shock hydrodynamics on an unstructured mesh of hexahedra, one thread per element or per node.
//
// Corner c of element e stands at [c * stride + e] in `nodelist` and in the arrays of corner forces, `stride` being the
// number of elements rounded up to a warp, so that the threads of a warp read neighbouring words.

#define CORNERS 8
// Coefficients and cut-offs of the published problem.
#define HOURGLASS 0.03
#define Q_LINEAR 0.5
#define Q_QUADRATIC (2.0 / 3.0)
#define Q_COURANT 4.0
#define DV_MAX 0.1
#define SLOPE_MAX 1.0
#define LIMITER 2.0
#define GAMMA_MINUS_ONE (2.0 / 3.0)
#define CUT 1e-7
#define V_CUT 1e-10
#define TINY 1e-36
// What a face of an element has beyond it, two bits per direction and side in `elem_bc`.
#define SYMMETRY 1
#define FREE 2
#define NO_LIMIT 1e20

struct Vector {
    double x, y, z;
};

__device__ static Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ static Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
__device__ static Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
__device__ static double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ static Vector cross(Vector a, Vector b)
{
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

__device__ static void gather(Vector *to, const int *nodes, const double *x, const double *y, const double *z)
{
#pragma unroll
    for (int c = 0; c < CORNERS; ++c)
        to[c] = {x[nodes[c]], y[nodes[c]], z[nodes[c]]};
}

// A quarter of a face's outward area belongs to each of its corners.
__device__ static void add_face(Vector *normals, const Vector *at, int a, int b, int c, int d)
{
    const Vector area = 0.0625 * cross(at[d] + at[c] - at[b] - at[a], at[c] + at[b] - at[d] - at[a]);
    normals[a] = normals[a] + area;
    normals[b] = normals[b] + area;
    normals[c] = normals[c] + area;
    normals[d] = normals[d] + area;
}

// How the volume changes with the position of one corner, times twelve: e1, e2, e3 are its neighbours along edges,
// right-handed, and d12, d23, d31 the far corners of the three faces they span.
__device__ static Vector volume_gradient(Vector e1, Vector e2, Vector e3, Vector d12, Vector d23, Vector d31)
{
    return cross(d12, e1 - e2) + cross(d23, e2 - e3) + cross(d31, e3 - e1) + cross(e1, e3) + cross(e2, e1)
         + cross(e3, e2);
}

// The hourglass modes: patterns of the corners that no uniform strain sees.
__device__ static double mode(int m, int c)
{
    const unsigned negative[4] = {0x3c, 0x96, 0xaa, 0xa5};
    return negative[m] >> c & 1 ? -1.0 : 1.0;
}

// Pressure, viscosity and resistance to hourglass motion of each element, as forces on its corners.
extern "C" __global__ void __launch_bounds__(128)
calc_volume_force(const int *nodelist, const double *x, const double *y, const double *z, const double *xd,
                  const double *yd, const double *zd, const double *p, const double *q, const double *v,
                  const double *volo, const double *ss, const double *elem_mass, double *fx_elem, double *fy_elem,
                  double *fz_elem, int elements, int stride)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements)
        return;
    int nodes[CORNERS];
    Vector at[CORNERS], force[CORNERS], gradient[CORNERS];
#pragma unroll
    for (int c = 0; c < CORNERS; ++c) {
        nodes[c] = nodelist[c * stride + e];
        force[c] = {0.0, 0.0, 0.0};
    }
    gather(at, nodes, x, y, z);

    add_face(force, at, 0, 1, 2, 3);
    add_face(force, at, 0, 4, 5, 1);
    add_face(force, at, 1, 5, 6, 2);
    add_face(force, at, 2, 6, 7, 3);
    add_face(force, at, 3, 7, 4, 0);
    add_face(force, at, 4, 7, 6, 5);
    const double push = p[e] + q[e];
#pragma unroll
    for (int c = 0; c < CORNERS; ++c)
        force[c] = push * force[c];

    gradient[0] = volume_gradient(at[1], at[3], at[4], at[2], at[7], at[5]);
    gradient[1] = volume_gradient(at[2], at[0], at[5], at[3], at[4], at[6]);
    gradient[2] = volume_gradient(at[3], at[1], at[6], at[0], at[5], at[7]);
    gradient[3] = volume_gradient(at[0], at[2], at[7], at[1], at[6], at[4]);
    gradient[4] = volume_gradient(at[7], at[5], at[0], at[6], at[1], at[3]);
    gradient[5] = volume_gradient(at[4], at[6], at[1], at[7], at[2], at[0]);
    gradient[6] = volume_gradient(at[5], at[7], at[2], at[4], at[3], at[1]);
    gradient[7] = volume_gradient(at[6], at[4], at[3], at[5], at[0], at[2]);

    const double volume = volo[e] * v[e];
    const double share = 1.0 / (12.0 * volume);
    const double resistance = -HOURGLASS * ss[e] * elem_mass[e] / cbrt(volume);
    Vector velocity[CORNERS];
    gather(velocity, nodes, xd, yd, zd);
#pragma unroll
    for (int m = 0; m < 4; ++m) {
        Vector place = {0.0, 0.0, 0.0}, speed = {0.0, 0.0, 0.0};
#pragma unroll
        for (int c = 0; c < CORNERS; ++c)
            place = place + mode(m, c) * at[c];
        place = share * place;
        double shape[CORNERS];
#pragma unroll
        for (int c = 0; c < CORNERS; ++c) {
            shape[c] = mode(m, c) - dot(gradient[c], place);
            speed = speed + shape[c] * velocity[c];
        }
        speed = resistance * speed;
#pragma unroll
        for (int c = 0; c < CORNERS; ++c)
            force[c] = force[c] + shape[c] * speed;
    }
#pragma unroll
    for (int c = 0; c < CORNERS; ++c) {
        fx_elem[c * stride + e] = force[c].x;
        fy_elem[c * stride + e] = force[c].y;
        fz_elem[c * stride + e] = force[c].z;
    }
}

// Sums the forces of the corners that meet in each node; `node_elem_start` says where a node's list begins.
extern "C" __global__ void add_node_forces(const int *node_elem_start, const int *node_elem_corners,
                                           const double *fx_elem, const double *fy_elem, const double *fz_elem,
                                           double *fx, double *fy, double *fz, int nodes)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= nodes)
        return;
    Vector sum = {0.0, 0.0, 0.0};
    for (int i = node_elem_start[n]; i < node_elem_start[n + 1]; ++i) {
        const int corner = node_elem_corners[i];
        sum = sum + Vector{fx_elem[corner], fy_elem[corner], fz_elem[corner]};
    }
    fx[n] = sum.x;
    fy[n] = sum.y;
    fz[n] = sum.z;
}

extern "C" __global__ void calc_acceleration(const double *fx, const double *fy, const double *fz,
                                             const double *nodal_mass, double *xdd, double *ydd, double *zdd,
                                             int nodes)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= nodes)
        return;
    const double inverse = 1.0 / nodal_mass[n];
    xdd[n] = fx[n] * inverse;
    ydd[n] = fy[n] * inverse;
    zdd[n] = fz[n] * inverse;
}

// Nodes of a plane of symmetry do not leave it.
extern "C" __global__ void apply_symmetry(const int *plane, double *acceleration, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        acceleration[plane[i]] = 0.0;
}

__device__ static double quiet(double speed)
{
    return fabs(speed) < CUT ? 0.0 : speed;
}

extern "C" __global__ void calc_position_and_velocity(double *x, double *y, double *z, double *xd, double *yd,
                                                      double *zd, const double *xdd, const double *ydd,
                                                      const double *zdd, double dt, int nodes)
{
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= nodes)
        return;
    const Vector speed = {quiet(xd[n] + xdd[n] * dt), quiet(yd[n] + ydd[n] * dt), quiet(zd[n] + zdd[n] * dt)};
    xd[n] = speed.x;
    yd[n] = speed.y;
    zd[n] = speed.z;
    x[n] += speed.x * dt;
    y[n] += speed.y * dt;
    z[n] += speed.z * dt;
}

// Derivatives along the three axes of the element at its centre, times eight.
__device__ static void along_axes(const Vector *f, Vector *xi, Vector *eta, Vector *zeta)
{
    const Vector a = f[6] - f[0], b = f[5] - f[3], c = f[7] - f[1], d = f[4] - f[2];
    *xi = a + b - c - d;
    *eta = a - b + c - d;
    *zeta = a + b + c + d;
}

__device__ static double volume_of(const Vector *at)
{
    const Vector d61 = at[6] - at[1], d70 = at[7] - at[0], d63 = at[6] - at[3], d20 = at[2] - at[0];
    const Vector d50 = at[5] - at[0], d64 = at[6] - at[4], d31 = at[3] - at[1], d72 = at[7] - at[2];
    const Vector d43 = at[4] - at[3], d57 = at[5] - at[7], d14 = at[1] - at[4], d25 = at[2] - at[5];
    return (dot(d31 + d72, cross(d63, d20)) + dot(d43 + d57, cross(d64, d70)) + dot(d14 + d25, cross(d61, d50)))
         / 12.0;
}

// Sixteen times the squared area of a face.
__device__ static double face_size(Vector a, Vector b, Vector c, Vector d)
{
    const Vector f = (c - a) - (d - b), g = (c - a) + (d - b);
    return dot(f, f) * dot(g, g) - dot(f, g) * dot(f, g);
}

// Volumes and strain rates after the move (the latter halfway through it), and the gradients of velocity along the
// element's axes, which the viscosity compares with the neighbours'.
extern "C" __global__ void __launch_bounds__(128)
calc_kinematics_and_gradient(const int *nodelist, const double *x, const double *y, const double *z, const double *xd,
                             const double *yd, const double *zd, const double *volo, const double *v, double *vnew,
                             double *delv, double *arealg, double *dxx, double *dyy, double *dzz, double *vdov,
                             double *delx_xi, double *delx_eta, double *delx_zeta, double *delv_xi, double *delv_eta,
                             double *delv_zeta, double dt, int elements, int stride)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements)
        return;
    int nodes[CORNERS];
    Vector at[CORNERS], speed[CORNERS];
#pragma unroll
    for (int c = 0; c < CORNERS; ++c)
        nodes[c] = nodelist[c * stride + e];
    gather(at, nodes, x, y, z);
    gather(speed, nodes, xd, yd, zd);

    const double volume = volume_of(at);
    const double relative = volume / volo[e];
    vnew[e] = relative;
    delv[e] = relative - v[e];
    const double a = fmax(face_size(at[0], at[1], at[2], at[3]), face_size(at[4], at[5], at[6], at[7]));
    const double b = fmax(face_size(at[0], at[1], at[5], at[4]), face_size(at[1], at[2], at[6], at[5]));
    const double c = fmax(face_size(at[2], at[3], at[7], at[6]), face_size(at[3], at[0], at[4], at[7]));
    arealg[e] = 4.0 * volume / sqrt(fmax(a, fmax(b, c)));

    Vector xi, eta, zeta, vxi, veta, vzeta;
    along_axes(at, &xi, &eta, &zeta);
    along_axes(speed, &vxi, &veta, &vzeta);
    {
        const Vector hxi = xi - 0.5 * dt * vxi, heta = eta - 0.5 * dt * veta, hzeta = zeta - 0.5 * dt * vzeta;
        const Vector cxi = cross(heta, hzeta), ceta = cross(hzeta, hxi), czeta = cross(hxi, heta);
        const double inverse = 1.0 / dot(hxi, cxi);
        const double rx = inverse * (cxi.x * vxi.x + ceta.x * veta.x + czeta.x * vzeta.x);
        const double ry = inverse * (cxi.y * vxi.y + ceta.y * veta.y + czeta.y * vzeta.y);
        const double rz = inverse * (cxi.z * vxi.z + ceta.z * veta.z + czeta.z * vzeta.z);
        const double rate = rx + ry + rz;
        vdov[e] = rate;
        dxx[e] = rx - rate / 3.0;
        dyy[e] = ry - rate / 3.0;
        dzz[e] = rz - rate / 3.0;
    }
    // From here on the derivatives are of the mean length of the element's edges: a quarter of the sums above.
    const Vector axi = 0.0625 * cross(eta, zeta), aeta = 0.0625 * cross(zeta, xi), azeta = 0.0625 * cross(xi, eta);
    const double norm = 1.0 / (volume + TINY);
    delx_xi[e] = volume / sqrt(dot(axi, axi) + TINY);
    delx_eta[e] = volume / sqrt(dot(aeta, aeta) + TINY);
    delx_zeta[e] = volume / sqrt(dot(azeta, azeta) + TINY);
    delv_xi[e] = 0.25 * norm * dot(axi, vxi);
    delv_eta[e] = 0.25 * norm * dot(aeta, veta);
    delv_zeta[e] = 0.25 * norm * dot(azeta, vzeta);
}

// How smooth the velocity is along one axis, from 0 (a shock) to 1: the smaller of both neighbours' gradients and their
// mean, in units of the element's own.
__device__ static double smoothness(const double *delv, int e, const int *minus, const int *plus, int bc)
{
    const double own = delv[e];
    const double norm = 1.0 / (own + TINY);
    const double before = norm * ((bc & 3) == SYMMETRY ? own : (bc & 3) == FREE ? 0.0 : delv[minus[e]]);
    const double behind = norm * ((bc >> 2) == SYMMETRY ? own : (bc >> 2) == FREE ? 0.0 : delv[plus[e]]);
    const double least = fmin(0.5 * (before + behind), LIMITER * fmin(before, behind));
    return fmin(fmax(least, 0.0), SLOPE_MAX);
}

// The linear and the quadratic part of the artificial viscosity, where an element is compressed.
extern "C" __global__ void calc_monotonic_q(const int *lxim, const int *lxip, const int *letam, const int *letap,
                                            const int *lzetam, const int *lzetap, const int *elem_bc,
                                            const double *delx_xi, const double *delx_eta, const double *delx_zeta,
                                            const double *delv_xi, const double *delv_eta, const double *delv_zeta,
                                            const double *vdov, const double *elem_mass, const double *volo,
                                            const double *vnew, double *qq, double *ql, int elements)
{
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= elements)
        return;
    double linear = 0.0, quadratic = 0.0;
    if (vdov[e] <= 0.0) {
        const int bc = elem_bc[e];
        const double sxi = smoothness(delv_xi, e, lxim, lxip, bc & 15);
        const double seta = smoothness(delv_eta, e, letam, letap, bc >> 4 & 15);
        const double szeta = smoothness(delv_zeta, e, lzetam, lzetap, bc >> 8 & 15);
        const double dxi = fmin(delv_xi[e] * delx_xi[e], 0.0);
        const double deta = fmin(delv_eta[e] * delx_eta[e], 0.0);
        const double dzeta = fmin(delv_zeta[e] * delx_zeta[e], 0.0);
        const double density = elem_mass[e] / (volo[e] * vnew[e]);
        linear = -Q_LINEAR * density * (dxi * (1.0 - sxi) + deta * (1.0 - seta) + dzeta * (1.0 - szeta));
        quadratic = Q_QUADRATIC * density
                  * (dxi * dxi * (1.0 - sxi * sxi) + deta * deta * (1.0 - seta * seta)
                     + dzeta * dzeta * (1.0 - szeta * szeta));
    }
    ql[e] = linear;
    qq[e] = quadratic;
}

__device__ static double pressure(double energy, double volume)
{
    const double p = GAMMA_MINUS_ONE * energy / volume;
    return p < CUT ? 0.0 : p;
}

__device__ static double sound_speed(double energy, double volume, double p)
{
    const double square = GAMMA_MINUS_ONE * (energy + volume * p);
    return square <= 1.111111e-37 ? 0.333333e-18 : sqrt(square);
}

__device__ static double cut(double value)
{
    return fabs(value) < CUT ? 0.0 : value;
}

// Energy, pressure and viscosity from the work done on an ideal gas, in a predictor and two correctors.
extern "C" __global__ void apply_material_properties(double *e, double *p, double *q, double *ss, double *v,
                                                     const double *vnew, const double *delv, const double *qq,
                                                     const double *ql, int elements)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= elements)
        return;
    const double volume = vnew[i], change = delv[i];
    const double half = volume - 0.5 * change;
    const double before = p[i] + q[i];
    const bool compressed = change <= 0.0;
    const double linear = ql[i], quadratic = qq[i];

    double energy = e[i] - 0.5 * change * before;
    const double p_half = pressure(energy, half);
    const double q_half = compressed ? sound_speed(energy, half, p_half) * linear + quadratic : 0.0;
    energy = cut(energy + 0.5 * change * (3.0 * before - 4.0 * (p_half + q_half)));

    double p_new = pressure(energy, volume);
    const double q_tilde = compressed ? sound_speed(energy, volume, p_new) * linear + quadratic : 0.0;
    energy = cut(energy - change / 6.0 * (7.0 * before - 8.0 * (p_half + q_half) + p_new + q_tilde));

    p_new = pressure(energy, volume);
    const double speed = sound_speed(energy, volume, p_new);
    e[i] = energy;
    p[i] = p_new;
    q[i] = compressed ? cut(speed * linear + quadratic) : 0.0;
    ss[i] = speed;
    v[i] = fabs(volume - 1.0) < V_CUT ? 1.0 : volume;
}

// The least time in which sound crosses an element, and in which its volume changes by a tenth; one pair per block.
extern "C" __global__ void __launch_bounds__(128)
calc_time_constraints(const double *ss, const double *vdov, const double *arealg, double *min_courant,
                      double *min_hydro, int elements)
{
    __shared__ double courant[128], hydro[128];
    const int t = threadIdx.x;
    const int e = blockIdx.x * blockDim.x + t;
    courant[t] = NO_LIMIT;
    hydro[t] = NO_LIMIT;
    if (e < elements && vdov[e] != 0.0) {
        const double rate = vdov[e], length = arealg[e];
        double square = ss[e] * ss[e];
        if (rate < 0.0)
            square += Q_COURANT * length * length * rate * rate;
        courant[t] = length / sqrt(square);
        hydro[t] = DV_MAX / (fabs(rate) + 1e-20);
    }
    __syncthreads();
    for (int width = 64; width > 0; width /= 2) {
        if (t < width) {
            courant[t] = fmin(courant[t], courant[t + width]);
            hydro[t] = fmin(hydro[t], hydro[t + width]);
        }
        __syncthreads();
    }
    if (t == 0) {
        min_courant[blockIdx.x] = courant[0];
        min_hydro[blockIdx.x] = hydro[0];
    }
}
