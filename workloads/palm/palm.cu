// One substep of a large-eddy simulation of the lower atmosphere: velocities u, v, w, potential temperature, humidity and the
// energy e of the turbulence that the grid does not resolve, then a pressure that removes divergence.
//
// Staggered grid of cubes with z (index k) fastest, then y (j), then x (i); periodic in x and y. u and v stand on the lower
// faces of their cells, w on the upper face. Levels 0 and nz - 1 are boundaries and keep their values; below a surface
// cells are solid. Bits of `flags` say what of a cell is open.

#define CELL 1 // the cell is air
#define FACE_X 2 // its lower face in x has air on both sides
#define FACE_Y 4 // its lower face in y
#define FACE_Z 8 // its upper face in z

#define GRAVITY 9.81

// No two arrays overlap.
typedef const double *__restrict__ In;
typedef double *__restrict__ Out;
typedef const int *__restrict__ Flags;

// Rows in y that a thread works on, one after another.
#define ROWS 4

// The level and the column of a thread, and the rows it works on.
struct Place {
    int nx, ny, nz;
    int k, i;
    int first_row, end_row;
};

// No rows where there is no cell between the boundaries.
static __device__ Place place(int nx, int ny, int nz)
{
    Place p;
    p.nx = nx;
    p.ny = ny;
    p.nz = nz;
    p.k = blockIdx.x * blockDim.x + threadIdx.x;
    p.i = blockIdx.y * blockDim.y + threadIdx.y;
    p.first_row = blockIdx.z * ROWS;
    p.end_row = p.k > 0 && p.k < nz - 1 && p.i < nx ? min(p.first_row + ROWS, ny) : 0;
    return p;
}

// A cell and its neighbours left, right (in x), south and north (in y); those below and above are one before and after.
struct Cell {
    int at, l, r, s, n;
    int sl, sr, nl, nr;
};

static __device__ Cell cell(const Place &p, int j)
{
    const int left = p.i == 0 ? p.nx - 1 : p.i - 1;
    const int right = p.i == p.nx - 1 ? 0 : p.i + 1;
    const int south = j == 0 ? p.ny - 1 : j - 1;
    const int north = j == p.ny - 1 ? 0 : j + 1;
    Cell c;
    c.at = (p.i * p.ny + j) * p.nz + p.k;
    c.l = (left * p.ny + j) * p.nz + p.k;
    c.r = (right * p.ny + j) * p.nz + p.k;
    c.s = (p.i * p.ny + south) * p.nz + p.k;
    c.n = (p.i * p.ny + north) * p.nz + p.k;
    c.sl = (left * p.ny + south) * p.nz + p.k;
    c.sr = (right * p.ny + south) * p.nz + p.k;
    c.nl = (left * p.ny + north) * p.nz + p.k;
    c.nr = (right * p.ny + north) * p.nz + p.k;
    return c;
}

// The coefficients of a substep: what the tendency and the one remembered add, and what is remembered of both.
struct Substep {
    double now, before, keep_now, keep_before;
};

static __device__ double advance(double value, double tendency, Out memory, int at, Substep t)
{
    const double before = memory[at];
    memory[at] = t.keep_now * tendency + t.keep_before * before;
    return value + t.now * tendency + t.before * before;
}

static __device__ double mean4(double a, double b, double c, double d)
{
    return 0.25 * (a + b + c + d);
}

// The flux of momentum of a component `a` through a face: carried by the velocity `b` across the face, both averaged to its
// middle, less what eddies of viscosity `km` carry down the strain.
static __device__ double momentum_flux(double a, double a_beyond, double b, double b_beside, double km, double per_metre)
{
    return 0.25 * (a + a_beyond) * (b + b_beside) - km * per_metre * ((a_beyond - a) + (b_beside - b));
}

// The same along the component's own axis, from one of its faces to the next.
static __device__ double own_flux(double a, double a_beyond, double km, double per_metre)
{
    const double mean = 0.5 * (a + a_beyond);
    return mean * mean - 2.0 * km * per_metre * (a_beyond - a);
}

// Smaller than a cell, near the ground and in stable air: the length over which eddies mix.
static __device__ double mixing_length(double root_e, double pt, double pt_below, double pt_above, int k, double spacing)
{
    double length = fmin(spacing, 1.8 * (k - 0.5) * spacing);
    const double stability = GRAVITY / pt * (pt_above - pt_below) / (2.0 * spacing);
    if (stability > 0.0)
        length = fmin(length, 0.76 * root_e / sqrt(stability));
    return length;
}

extern "C" __global__ void diffusivities(In e, In pt, Flags flags, Out km, Out kh, int nx, int ny, int nz,
                                         double spacing)
{
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const int at = (p.i * ny + j) * nz + p.k;
        if (flags[at] & CELL) {
            const double root = sqrt(e[at]);
            const double length = mixing_length(root, pt[at], pt[at - 1], pt[at + 1], p.k, spacing);
            const double viscosity = 0.1 * length * root;
            km[at] = viscosity;
            kh[at] = (1.0 + 2.0 * length / spacing) * viscosity;
        }
    }
}

extern "C" __global__ void prognostic_u(In u, Out u_p, Out tu_m, In v, In w, In km, Flags flags, int nx, int ny,
                                        int nz, double per_metre, double coriolis, double v_geostrophic, double now,
                                        double before, double keep_now, double keep_before)
{
    const Substep t = {now, before, keep_now, keep_before};
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        if (!(flags[c.at] & FACE_X)) {
            u_p[c.at] = 0.0;
            continue;
        }
        const double here = u[c.at];
        const double right = own_flux(here, u[c.r], km[c.at], per_metre);
        const double left = own_flux(u[c.l], here, km[c.l], per_metre);
        const double north = momentum_flux(here, u[c.n], v[c.nl], v[c.n], mean4(km[c.at], km[c.l], km[c.n], km[c.nl]), per_metre);
        const double south = momentum_flux(u[c.s], here, v[c.l], v[c.at], mean4(km[c.at], km[c.l], km[c.s], km[c.sl]), per_metre);
        const double top = momentum_flux(here, u[c.at + 1], w[c.l], w[c.at],
                                         mean4(km[c.at], km[c.l], km[c.at + 1], km[c.l + 1]), per_metre);
        const double bottom = momentum_flux(u[c.at - 1], here, w[c.l - 1], w[c.at - 1],
                                            mean4(km[c.at], km[c.l], km[c.at - 1], km[c.l - 1]), per_metre);
        const double turning = coriolis * (mean4(v[c.at], v[c.l], v[c.n], v[c.nl]) - v_geostrophic);
        const double tendency = turning - ((right - left) + (north - south) + (top - bottom)) * per_metre;
        u_p[c.at] = advance(here, tendency, tu_m, c.at, t);
    }
}

extern "C" __global__ void prognostic_v(In v, Out v_p, Out tv_m, In u, In w, In km, Flags flags, int nx, int ny,
                                        int nz, double per_metre, double coriolis, double u_geostrophic, double now,
                                        double before, double keep_now, double keep_before)
{
    const Substep t = {now, before, keep_now, keep_before};
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        if (!(flags[c.at] & FACE_Y)) {
            v_p[c.at] = 0.0;
            continue;
        }
        const double here = v[c.at];
        const double north = own_flux(here, v[c.n], km[c.at], per_metre);
        const double south = own_flux(v[c.s], here, km[c.s], per_metre);
        const double right = momentum_flux(here, v[c.r], u[c.sr], u[c.r], mean4(km[c.at], km[c.s], km[c.r], km[c.sr]), per_metre);
        const double left = momentum_flux(v[c.l], here, u[c.s], u[c.at], mean4(km[c.at], km[c.s], km[c.l], km[c.sl]), per_metre);
        const double top = momentum_flux(here, v[c.at + 1], w[c.s], w[c.at],
                                         mean4(km[c.at], km[c.s], km[c.at + 1], km[c.s + 1]), per_metre);
        const double bottom = momentum_flux(v[c.at - 1], here, w[c.s - 1], w[c.at - 1],
                                            mean4(km[c.at], km[c.s], km[c.at - 1], km[c.s - 1]), per_metre);
        const double turning = -coriolis * (mean4(u[c.at], u[c.s], u[c.r], u[c.sr]) - u_geostrophic);
        const double tendency = turning - ((right - left) + (north - south) + (top - bottom)) * per_metre;
        v_p[c.at] = advance(here, tendency, tv_m, c.at, t);
    }
}

// `pt_reference` is the temperature on the upper faces at which air neither rises nor falls.
extern "C" __global__ void prognostic_w(In w, Out w_p, Out tw_m, In u, In v, In pt, In pt_reference, In km,
                                        Flags flags, int nx, int ny, int nz, double per_metre, double now,
                                        double before, double keep_now, double keep_before)
{
    const Substep t = {now, before, keep_now, keep_before};
    const Place p = place(nx, ny, nz);
    const double reference = p.end_row > 0 ? pt_reference[p.k] : 1.0;
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        if (!(flags[c.at] & FACE_Z)) {
            w_p[c.at] = 0.0;
            continue;
        }
        const double here = w[c.at];
        const double top = own_flux(here, w[c.at + 1], km[c.at + 1], per_metre);
        const double bottom = own_flux(w[c.at - 1], here, km[c.at], per_metre);
        const double right = momentum_flux(here, w[c.r], u[c.r], u[c.r + 1],
                                           mean4(km[c.at], km[c.at + 1], km[c.r], km[c.r + 1]), per_metre);
        const double left = momentum_flux(w[c.l], here, u[c.at], u[c.at + 1],
                                          mean4(km[c.at], km[c.at + 1], km[c.l], km[c.l + 1]), per_metre);
        const double north = momentum_flux(here, w[c.n], v[c.n], v[c.n + 1],
                                           mean4(km[c.at], km[c.at + 1], km[c.n], km[c.n + 1]), per_metre);
        const double south = momentum_flux(w[c.s], here, v[c.at], v[c.at + 1],
                                           mean4(km[c.at], km[c.at + 1], km[c.s], km[c.s + 1]), per_metre);
        const double lift = GRAVITY * (0.5 * (pt[c.at] + pt[c.at + 1]) - reference) / reference;
        const double tendency = lift - ((right - left) + (north - south) + (top - bottom)) * per_metre;
        w_p[c.at] = advance(here, tendency, tw_m, c.at, t);
    }
}

// What flows of a scalar through a face that is open or not; advection needs no flag, as nothing blows through a wall.
static __device__ double scalar_flux(double s, double beyond, double velocity, double k, double k_beyond, int open,
                                     double per_metre)
{
    const double carried = 0.5 * velocity * (s + beyond);
    return open ? carried - 0.5 * (k + k_beyond) * per_metre * (beyond - s) : carried;
}

// The tendency of a scalar by wind and eddies; `from_ground` enters where the cell below is solid.
static __device__ double transport(In s, In u, In v, In w, In k, Flags flags, const Cell &c, double per_metre,
                                   double from_ground)
{
    const double here = s[c.at], mixing = k[c.at];
    const int own = flags[c.at];
    const double right = scalar_flux(here, s[c.r], u[c.r], mixing, k[c.r], flags[c.r] & FACE_X, per_metre);
    const double left = scalar_flux(s[c.l], here, u[c.at], k[c.l], mixing, own & FACE_X, per_metre);
    const double north = scalar_flux(here, s[c.n], v[c.n], mixing, k[c.n], flags[c.n] & FACE_Y, per_metre);
    const double south = scalar_flux(s[c.s], here, v[c.at], k[c.s], mixing, own & FACE_Y, per_metre);
    const double top = scalar_flux(here, s[c.at + 1], w[c.at], mixing, k[c.at + 1], own & FACE_Z, per_metre);
    const int open_below = flags[c.at - 1] & FACE_Z;
    const double bottom = scalar_flux(s[c.at - 1], here, w[c.at - 1], k[c.at - 1], mixing, open_below, per_metre);
    return -((right - left) + (north - south) + (top - (open_below ? bottom : from_ground))) * per_metre;
}

// Potential temperature or humidity.
extern "C" __global__ void prognostic_scalar(In s, Out s_p, Out ts_m, In u, In v, In w, In kh, Flags flags, int nx,
                                             int ny, int nz, double per_metre, double from_ground, double now,
                                             double before, double keep_now, double keep_before)
{
    const Substep t = {now, before, keep_now, keep_before};
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        if (flags[c.at] & CELL)
            s_p[c.at] = advance(s[c.at], transport(s, u, v, w, kh, flags, c, per_metre, from_ground), ts_m, c.at, t);
    }
}

// Energy of unresolved turbulence: carried, made by shear, used up or made by buoyancy, dissipated.
extern "C" __global__ void prognostic_e(In e, Out e_p, Out te_m, In u, In v, In w, In pt, In km, In kh, Flags flags,
                                        int nx, int ny, int nz, double per_metre, double spacing, double now,
                                        double before, double keep_now, double keep_before)
{
    const Substep t = {now, before, keep_now, keep_before};
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        if (!(flags[c.at] & CELL))
            continue;
        const double u_x = u[c.r] - u[c.at], v_y = v[c.n] - v[c.at], w_z = w[c.at] - w[c.at - 1];
        const double u_y = 0.25 * (u[c.n] + u[c.nr] - u[c.s] - u[c.sr]);
        const double u_z = 0.25 * (u[c.at + 1] + u[c.r + 1] - u[c.at - 1] - u[c.r - 1]);
        const double v_x = 0.25 * (v[c.r] + v[c.nr] - v[c.l] - v[c.nl]);
        const double v_z = 0.25 * (v[c.at + 1] + v[c.n + 1] - v[c.at - 1] - v[c.n - 1]);
        const double w_x = 0.25 * (w[c.r] + w[c.r - 1] - w[c.l] - w[c.l - 1]);
        const double w_y = 0.25 * (w[c.n] + w[c.n - 1] - w[c.s] - w[c.s - 1]);
        const double shear = 2.0 * (u_x * u_x + v_y * v_y + w_z * w_z) + (u_y + v_x) * (u_y + v_x) +
                             (u_z + w_x) * (u_z + w_x) + (v_z + w_y) * (v_z + w_y);
        const double here = e[c.at], root = sqrt(here);
        const double below = pt[c.at - 1], above = pt[c.at + 1], warmth = pt[c.at];
        const double length = mixing_length(root, warmth, below, above, p.k, spacing);
        const double made = km[c.at] * shear * per_metre * per_metre;
        const double lifted = GRAVITY / warmth * kh[c.at] * 0.5 * (above - below) * per_metre;
        const double lost = (0.19 + 0.74 * length / spacing) * here * root / length;
        const double tendency = transport(e, u, v, w, km, flags, c, per_metre, 0.0) + made - lifted - lost;
        const double next = advance(here, tendency, te_m, c.at, t);
        e_p[c.at] = next < 0.0 ? 0.1 * here : next;
    }
}

// What flows out of each cell, in the time that the pressure has to stop it.
extern "C" __global__ void divergence(In u_p, In v_p, In w_p, Flags flags, Out d, int nx, int ny, int nz,
                                      double per_metre, double per_second)
{
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        if (flags[c.at] & CELL)
            d[c.at] = (u_p[c.r] - u_p[c.at] + v_p[c.n] - v_p[c.at] + w_p[c.at] - w_p[c.at - 1]) * per_metre * per_second;
    }
}

// One sweep towards the pressure whose Laplacian is d, without gradient at walls.
extern "C" __global__ void pressure_sweep(In from, Out to, In d, Flags flags, int nx, int ny, int nz, double spacing)
{
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        const int own = flags[c.at];
        if (!(own & CELL))
            continue;
        double sum = 0.0, open = 0.0;
        if (own & FACE_X)
            sum += from[c.l], open += 1.0;
        if (flags[c.r] & FACE_X)
            sum += from[c.r], open += 1.0;
        if (own & FACE_Y)
            sum += from[c.s], open += 1.0;
        if (flags[c.n] & FACE_Y)
            sum += from[c.n], open += 1.0;
        if (own & FACE_Z)
            sum += from[c.at + 1], open += 1.0;
        if (flags[c.at - 1] & FACE_Z)
            sum += from[c.at - 1], open += 1.0;
        to[c.at] = open > 0.0 ? (sum - spacing * spacing * d[c.at]) / open : 0.0;
    }
}

// The pressure's gradient acts on the velocities.
extern "C" __global__ void correct(Out u_p, Out v_p, Out w_p, In pressure, Flags flags, int nx, int ny, int nz,
                                   double seconds_per_metre)
{
    const Place p = place(nx, ny, nz);
    for (int j = p.first_row; j < p.end_row; j++) {
        const Cell c = cell(p, j);
        const int own = flags[c.at];
        const double here = pressure[c.at];
        if (own & FACE_X)
            u_p[c.at] -= seconds_per_metre * (here - pressure[c.l]);
        if (own & FACE_Y)
            v_p[c.at] -= seconds_per_metre * (here - pressure[c.s]);
        if (own & FACE_Z)
            w_p[c.at] -= seconds_per_metre * (pressure[c.at + 1] - here);
    }
}
