// Calls of every kind: virtual functions, function pointers in global and constant memory, recursion, structures.
struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const { return 0; }
};
struct Square : Shape {
    float a;
    __device__ Square(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
    __device__ int sides() const override { return 4; }
};
struct Circle : Shape {
    float r;
    __device__ Circle(float r) : r(r) {}
    __device__ float area() const override { return 3.0f * r * r; }
};

__device__ __noinline__ float measure(const Shape *s) { return s->area() + s->sides(); }

extern "C" __global__ void virtual_functions(float *out) {
    int i = threadIdx.x;
    Square square(i);
    Circle circle(i);
    const Shape *s = i % 3 == 0 ? static_cast<const Shape *>(&square) : &circle;
    out[i] = measure(s);
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ __noinline__ int minus(int a, int b) { return a - b; }
__device__ __noinline__ int times(int a, int b) { return a * b; }
__device__ Operation in_global[3] = {plus, minus, times};
__constant__ Operation in_constant[3] = {times, plus, minus};

extern "C" __global__ void function_pointers(int *out) {
    int i = threadIdx.x;
    out[i] = in_global[i % 3](i, 5) * 1000 + in_constant[i % 2](i, 7);
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

struct Big {
    double d;
    int list[7];
    short s;
    char c;
};
__device__ __noinline__ Big change(Big b, int k) {
    b.d += k;
    for (int i = 0; i < 7; i++) b.list[(i + k) % 7] += i;
    b.s = -b.s;
    b.c ^= 0x55;
    return b;
}

extern "C" __global__ void structures(Big in, Big *out) {
    int i = threadIdx.x;
    in.list[0] = i;
    out[i] = change(in, i);
}

__device__ __noinline__ void sort3(int *a, int *b, int *c) {
    int t;
    if (*a > *b) t = *a, *a = *b, *b = t;
    if (*b > *c) t = *b, *b = *c, *c = t;
    if (*a > *b) t = *a, *a = *b, *b = t;
}

extern "C" __global__ void pointers_to_locals(int *out) {
    __shared__ int s[64];
    int i = threadIdx.x;
    int local[3] = {(i * 7) % 5, (i * 3) % 11, i % 4};
    s[i] = (i * 5) % 9;
    // Pointers to local, shared and global memory, lane by lane.
    out[i * 4 + 3] = i % 7;
    int *second = i % 3 == 0 ? &local[1] : i % 3 == 1 ? &s[i] : &out[i * 4 + 3];
    sort3(&local[0], second, &local[2]);
    out[i * 4] = local[0];
    out[i * 4 + 1] = *second;
    out[i * 4 + 2] = local[2];
}
