// Ray tracing of spheres above a chequered floor: one thread per pixel, a light with shadows, mirrors.

#define BOUNCES 4
#define FAR 60.0f
#define NEAR 1e-3f

// Two float4 for each sphere: centre and radius, colour and share that is mirrored.
struct Scene {
    const float4 *spheres;
    int count;
};

struct Vector {
    float x, y, z;
};

static __device__ Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
static __device__ Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
static __device__ Vector operator*(float s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
static __device__ float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
static __device__ Vector unit(Vector a) { return (1.0f / sqrtf(dot(a, a))) * a; }

// The nearest sphere that a ray meets before `limit`, which becomes its distance; -1 if there is none.
static __device__ int nearest(const Scene &scene, Vector from, Vector along, float &limit)
{
    int found = -1;
#pragma unroll 1
    for (int k = 0; k < scene.count; k++) {
        const float4 sphere = scene.spheres[2 * k];
        const Vector to = {sphere.x - from.x, sphere.y - from.y, sphere.z - from.z};
        const float middle = dot(to, along);
        const float inside = sphere.w * sphere.w - dot(to, to) + middle * middle;
        if (inside > 0.0f) {
            const float distance = middle - sqrtf(inside);
            if (distance > NEAR && distance < limit) {
                limit = distance;
                found = k;
            }
        }
    }
    return found;
}

static __device__ unsigned channel(float value)
{
    return (unsigned)(255.0f * fminf(fmaxf(value, 0.0f), 1.0f) + 0.5f);
}

extern "C" __global__ void trace(const float4 *spheres, int count, unsigned *pixels, int width, int height)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    const Scene scene = {spheres, count};
    const Vector lamp = {6.0f, 12.0f, -6.0f};
    Vector from = {0.0f, 3.0f, -10.0f};
    Vector along = unit({(x + 0.5f - 0.5f * width) / height, (0.4f * height - y - 0.5f) / height, 1.0f});
    Vector seen = {0.0f, 0.0f, 0.0f};
    float weight = 1.0f;
    for (int bounce = 0; bounce < BOUNCES && weight > 0.02f; bounce++) {
        float distance = FAR;
        const int sphere = nearest(scene, from, along, distance);
        const float to_floor = along.y < 0.0f ? -from.y / along.y : FAR;
        if (sphere < 0 && to_floor >= FAR) {
            // The sky is brighter above.
            const float up = 0.5f + 0.5f * along.y;
            seen = seen + weight * Vector{0.3f + 0.2f * up, 0.4f + 0.3f * up, 0.6f + 0.4f * up};
            break;
        }
        Vector place, normal, colour;
        float mirror;
        if (to_floor < distance) {
            place = from + to_floor * along;
            normal = {0.0f, 1.0f, 0.0f};
            const int odd = ((int)floorf(place.x) + (int)floorf(place.z)) & 1;
            colour = odd ? Vector{0.2f, 0.2f, 0.25f} : Vector{0.8f, 0.8f, 0.75f};
            mirror = 0.1f;
        } else {
            const float4 shape = scene.spheres[2 * sphere], surface = scene.spheres[2 * sphere + 1];
            place = from + distance * along;
            normal = (1.0f / shape.w) * Vector{place.x - shape.x, place.y - shape.y, place.z - shape.z};
            colour = {surface.x, surface.y, surface.z};
            mirror = surface.w;
        }
        const Vector to_lamp = lamp - place;
        float reach = sqrtf(dot(to_lamp, to_lamp));
        const Vector towards = (1.0f / reach) * to_lamp;
        const float slant = dot(normal, towards);
        float light = 0.25f;
        if (slant > 0.0f && nearest(scene, place, towards, reach) < 0)
            light += 0.75f * slant;
        seen = seen + (weight * (1.0f - mirror) * light) * colour;
        weight *= mirror;
        from = place;
        along = along - (2.0f * dot(along, normal)) * normal;
    }
    pixels[(size_t)y * width + x] = channel(seen.x) | channel(seen.y) << 8 | channel(seen.z) << 16 | 0xffu << 24;
}
