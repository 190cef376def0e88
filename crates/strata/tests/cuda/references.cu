// Texture and surface references, as the compilers of CUDA 11 and before made them. The headers of today know neither the types nor
// the calls, so this program does by hand what such a compiler's code does: it registers a fat binary with a kernel that reads
// references, tells the runtime which variables of the host stand for them, and binds them by the calls of that time.
#include "check.h"
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

// What host code sees of a reference, up to what is about mipmaps (`textureReference` of CUDA 11).
struct Reference {
    int normalized, linear, address[3];
    cudaChannelFormatDesc channels;
    int srgb;
    unsigned more[20];
};

static Reference line, plane, picture, sheet;

static const char *ptx = R"(.version 7.8
.target sm_75
.address_size 64
.global .texref line;
.global .texref plane;
.global .texref _ZN5space7pictureE;
.global .surfref sheet;
.visible .entry look(.param .u64 out) {
    .reg .b32 %r<12>; .reg .f32 %f<12>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 16; add.s64 %rd3, %rd1, %rd2;
    tex.1d.v4.s32.s32 {%r2, %r3, %r4, %r5}, [line, {%r1}];
    cvt.rn.f32.s32 %f1, %r2;
    cvt.rn.f32.u32 %f2, %r1; add.f32 %f2, %f2, 0f3F000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [plane, {%f2, %f2}];
    add.f32 %f7, %f2, 0f3F000000;
    tex.2d.v4.f32.f32 {%f8, %f4, %f5, %f6}, [_ZN5space7pictureE, {%f7, 0f3F000000}];
    shl.b32 %r6, %r1, 2;
    suld.b.2d.b32.trap {%r7}, [sheet, {%r6, 1}];
    add.u32 %r8, %r7, 1;
    sust.b.2d.b32.trap [sheet, {%r6, 0}], {%r8};
    cvt.rn.f32.u32 %f9, %r7;
    st.global.v4.f32 [%rd3], {%f1, %f3, %f8, %f9};
    ret;
})";

static std::vector<unsigned char> image() {
    std::string text = ptx;
    text.resize((text.size() + 8) / 8 * 8);
    std::vector<unsigned char> bytes;
    auto put = [&](unsigned long long value, int size) {
        for (int k = 0; k < size; k++) bytes.push_back(value >> 8 * k & 255);
    };
    put(0xba55ed50, 4), put(1, 2), put(16, 2), put(64 + text.size(), 8);
    put(1, 2), put(0x101, 2), put(64, 4), put(text.size(), 8), put(0, 8), put(0x70008, 4), put(75, 4);
    bytes.resize(16 + 64);
    bytes.insert(bytes.end(), text.begin(), text.end());
    return bytes;
}

// A call that the compiler's header does not declare.
template <typename... Arguments> static int call(const char *name, Arguments... arguments) {
    auto found = reinterpret_cast<int (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name));
    return found ? found(arguments...) : -1;
}

static void look() {}

int main() {
    static std::vector<unsigned char> binary = image();
    static struct { int magic, version; const void *data; void *file; } wrapper = {0x466243b1, 1, binary.data(), nullptr};
    auto handle = reinterpret_cast<void **(*)(void *)>(dlsym(RTLD_DEFAULT, "__cudaRegisterFatBinary"))(&wrapper);
    auto kernel = reinterpret_cast<const void *>(&look);
    void *none = nullptr;
    call("__cudaRegisterFunction", handle, kernel, "look", "look", -1, none, none, none, none, none);
    call("__cudaRegisterTexture", handle, &line, none, "line", 1, 0, 0);
    call("__cudaRegisterTexture", handle, &plane, none, "::plane", 2, 1, 0);
    call("__cudaRegisterTexture", handle, &picture, none, "::space::picture", 2, 0, 0);
    call("__cudaRegisterSurface", handle, &sheet, none, "sheet", 2, 0);
    call("__cudaRegisterFatBinaryEnd", handle);

    float *out, got[4 * 8];
    CUDA(cudaMalloc(&out, sizeof got));
    void *arguments[] = {&out};

    // Integers of linear memory; bytes of pitched memory, as floats between 0 and 1; floats of an array, between two of them.
    const size_t pitch = 512;
    int numbers[8];
    unsigned char bytes[8 * pitch] = {};
    float values[16];
    for (int k = 0; k < 16; k++) values[k] = k % 8 * 10;
    for (int k = 0; k < 8; k++) numbers[k] = 100 + k, bytes[k * pitch + k] = 51 * (k % 6);
    int *linear;
    unsigned char *pitched;
    cudaArray_t array, drawn;
    auto integer = cudaCreateChannelDesc<int>(), byte = cudaCreateChannelDesc<unsigned char>();
    auto single = cudaCreateChannelDesc<float>(), word = cudaCreateChannelDesc<unsigned>();
    CUDA(cudaMalloc(&linear, sizeof numbers));
    CUDA(cudaMalloc(&pitched, sizeof bytes));
    CUDA(cudaMallocArray(&array, &single, 8, 2));
    CUDA(cudaMallocArray(&drawn, &word, 8, 2, cudaArraySurfaceLoadStore));
    CUDA(cudaMemcpy(linear, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(pitched, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy2DToArray(array, 0, 0, values, 32, 32, 2, cudaMemcpyHostToDevice));
    unsigned points[16];
    for (int k = 0; k < 16; k++) points[k] = 1000 + k;
    CUDA(cudaMemcpy2DToArray(drawn, 0, 0, points, 32, 32, 2, cudaMemcpyHostToDevice));

    size_t offset = 1;
    picture.linear = cudaFilterModeLinear;
    picture.address[0] = picture.address[1] = cudaAddressModeClamp;
    EXPECT(call("cudaBindTexture", &offset, &line, linear, &integer, sizeof numbers) == 0 && offset == 0);
    EXPECT(call("cudaBindTexture2D", &offset, &plane, pitched, &byte, size_t(8), size_t(8), pitch) == 0);
    EXPECT(call("cudaBindTextureToArray", &picture, array, &single) == 0);
    EXPECT(call("cudaBindSurfaceToArray", &sheet, drawn, &word) == 0);
    CUDA(cudaLaunchKernel(kernel, dim3(1), dim3(8), arguments, 0, nullptr));
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    for (int k = 0; k < 8; k++) {
        EXPECT(got[4 * k] == 100 + k);
        EXPECT(got[4 * k + 1] == 51 * (k % 6) / 255.0f);
        EXPECT(got[4 * k + 2] == (k < 7 ? k * 10 + 5 : 70));
        EXPECT(got[4 * k + 3] == 1008 + k);
    }
    CUDA(cudaMemcpy2DFromArray(points, 32, drawn, 0, 0, 32, 2, cudaMemcpyDeviceToHost));
    for (int k = 0; k < 8; k++) EXPECT(points[k] == 1009u + k);

    // Bound anew: the next launch reads the other memory.
    EXPECT(call("cudaBindTexture", &offset, &line, linear + 4, &integer, size_t(16)) == 0);
    CUDA(cudaLaunchKernel(kernel, dim3(1), dim3(4), arguments, 0, nullptr));
    CUDA(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got[0] == 104 && got[12] == 107);
    EXPECT(call("cudaUnbindTexture", &line) == 0);
    EXPECT(call("cudaUnbindTexture", &linear) == cudaErrorInvalidTexture);
    printf("references: all is right\n");
    return 0;
}
