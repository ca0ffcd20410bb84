// CUDA and HIP by the interfaces of their drivers, which agree but for the names. The libraries are loaded when a
// device is opened, so that one build suits all machines.
#include <dlfcn.h>

#include <array>
#include <string>

#include "backends.hpp"
#include "crossdock/error.hpp"

namespace crossdock::device {

extern const char* const kernels_ptx;
extern const char* const kernels_source;

namespace {

constexpr int not_ready = 600;
constexpr int no_memory = 2;
constexpr unsigned without_timing = 2;
constexpr unsigned beside_default = 1;  // a stream that does not wait for the default one
constexpr int memory_type = 2;
constexpr unsigned threads_per_block = 256;

using opaque = void*;  // of a context, a module, a function, an event

// What is called, and its names in CUDA and HIP.
#define CROSSDOCK_DRIVER_CALLS(CALL)                                                              \
    CALL(init, (unsigned), "cuInit", "hipInit")                                                   \
    CALL(count, (int*), "cuDeviceGetCount", "hipGetDeviceCount")                                  \
    CALL(get_device, (int*, int), "cuDeviceGet", "hipDeviceGet")                                  \
    CALL(device_name, (char*, int, int), "cuDeviceGetName", "hipDeviceGetName")                   \
    CALL(device_of_current, (int*), "cuCtxGetDevice", "hipCtxGetDevice")                          \
    CALL(current, (opaque*), "cuCtxGetCurrent", "hipCtxGetCurrent")                               \
    CALL(retain, (opaque*, int), "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain")         \
    CALL(push, (opaque), "cuCtxPushCurrent_v2", "hipCtxPushCurrent")                              \
    CALL(pop, (opaque*), "cuCtxPopCurrent_v2", "hipCtxPopCurrent")                                \
    CALL(error_name, (int, const char**), "cuGetErrorName", "hipDrvGetErrorName")                 \
    CALL(load, (opaque*, const void*), "cuModuleLoadData", "hipModuleLoadData")                   \
    CALL(unload, (opaque), "cuModuleUnload", "hipModuleUnload")                                   \
    CALL(get_function, (opaque*, opaque, const char*), "cuModuleGetFunction",                     \
         "hipModuleGetFunction")                                                                  \
    CALL(launch,                                                                                  \
         (opaque, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, stream,   \
          void**, void**),                                                                        \
         "cuLaunchKernel", "hipModuleLaunchKernel")                                               \
    CALL(attribute, (void*, int, const void*), "cuPointerGetAttribute", "hipPointerGetAttribute") \
    CALL(allocate, (void**, std::size_t), "cuMemAlloc_v2", "hipMalloc")                           \
    CALL(free, (void*), "cuMemFree_v2", "hipFree")                                                \
    CALL(allocate_pinned, (void**, std::size_t, unsigned), "cuMemHostAlloc", "hipHostMalloc")     \
    CALL(free_pinned, (void*), "cuMemFreeHost", "hipHostFree")                                    \
    CALL(copy_down, (void*, void*, std::size_t, stream), "cuMemcpyDtoHAsync_v2",                  \
         "hipMemcpyDtoHAsync")                                                                    \
    CALL(copy_up, (void*, const void*, std::size_t, stream), "cuMemcpyHtoDAsync_v2",              \
         "hipMemcpyHtoDAsync")                                                                    \
    CALL(make_event, (opaque*, unsigned), "cuEventCreate", "hipEventCreateWithFlags")             \
    CALL(free_event, (opaque), "cuEventDestroy_v2", "hipEventDestroy")                            \
    CALL(record, (opaque, stream), "cuEventRecord", "hipEventRecord")                             \
    CALL(let_wait, (stream, opaque, unsigned), "cuStreamWaitEvent", "hipStreamWaitEvent")         \
    CALL(query, (opaque), "cuEventQuery", "hipEventQuery")                                        \
    CALL(wait, (opaque), "cuEventSynchronize", "hipEventSynchronize")                             \
    CALL(make_stream, (stream*, unsigned), "cuStreamCreate", "hipStreamCreateWithFlags")          \
    CALL(free_stream, (stream), "cuStreamDestroy_v2", "hipStreamDestroy")                         \
    CALL(wait_for, (stream), "cuStreamSynchronize", "hipStreamSynchronize")

struct driver_names {
    const char* name;
    std::array<const char*, 3> libraries;
    bool is_hip;
    const char* state;
};
constexpr driver_names cuda{"cuda", {"libcuda.so.1"}, false, "checked on one H100"};
constexpr driver_names hip{"hip",
                           {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
                           true,
                           "compiled and checked, not yet run on a device"};

[[noreturn]] void refuse(const driver_names& of, const std::string& why) {
    throw error(errc::invalid_state, std::string(of.name) + ": " + why);
}

// A library of the driver, which stays loaded.
void* load_library(const driver_names& of, const std::array<const char*, 3>& names) {
    for (const char* const name : names) {
        void* const loaded = name ? dlopen(name, RTLD_NOW | RTLD_GLOBAL) : nullptr;
        if (loaded != nullptr) return loaded;
    }
    refuse(of, std::string(names[0]) + " was not found");
}

template <class Function>
Function find(const driver_names& of, void* library, const char* name) {
    void* const found = dlsym(library, name);
    if (found == nullptr) refuse(of, std::string("the driver has no ") + name);
    return reinterpret_cast<Function>(found);
}

struct functions {
    explicit functions(const driver_names& of) : functions(of, load_library(of, of.libraries)) {}
    functions(const driver_names& of, void* library) {
#define FIND_CALL(call, arguments, in_cuda, in_hip) \
    call = find<decltype(call)>(of, library, of.is_hip ? in_hip : in_cuda);
        CROSSDOCK_DRIVER_CALLS(FIND_CALL)
    }

#define DECLARE_CALL(call, arguments, in_cuda, in_hip) int(*call) arguments;
    CROSSDOCK_DRIVER_CALLS(DECLARE_CALL)
};

class real_driver final : public driver {
  public:
    explicit real_driver(const driver_names& of) : of_(of), does_(of) {
        if (does_.init(0) != 0)
            refuse(of, "the driver cannot be initialized; there may be no device");
        int num_devices = 0;
        if (does_.count(&num_devices) != 0 || num_devices == 0) refuse(of, "there is no device");
        does_.current(&context_);
        if (context_ == nullptr) {
            int first = 0;
            check(does_.get_device(&first, 0), "the first device");
            check(does_.retain(&context_, first), "its context");
        }
    }

    ~real_driver() override { call(does_.unload, module_); }

    void load(const void* image) {
        insist("loading the kernels", does_.load, &module_, image);
        for (std::size_t i = 0; i < kernel_names.size(); ++i)
            insist(kernel_names[i], does_.get_function, &kernels_[i], module_, kernel_names[i]);
    }

    std::string name() const override { return of_.name; }
    std::string description() const override {
        char text[256] = "an unknown device";
        int which = 0;
        if (call(does_.device_of_current, &which) == 0)
            does_.device_name(text, sizeof(text), which);
        return std::string(of_.name) + " on " + text + "; " + of_.state;
    }

    // Newer versions of HIP know memory that is not theirs, by the type 0.
    bool can_use(const void* address) override {
        unsigned type = 0;
        return call(does_.attribute, &type, memory_type, address) == 0 && type != 0;
    }

    void* allocate(std::size_t num_bytes) override {
        return make("memory of the device", does_.allocate, num_bytes);
    }
    void free(void* memory) noexcept override { call(does_.free, memory); }
    void* allocate_pinned(std::size_t num_bytes) override {
        return make("pinned memory of the host", does_.allocate_pinned, num_bytes, 0u);
    }
    void free_pinned(void* memory) noexcept override { call(does_.free_pinned, memory); }

    void copy_down(void* pinned, const void* device, std::size_t num_bytes, stream on) override {
        insist("a copy down", does_.copy_down, pinned, const_cast<void*>(device), num_bytes, on);
    }
    void copy_up(void* device, const void* pinned, std::size_t num_bytes, stream on) override {
        insist("a copy up", does_.copy_up, device, pinned, num_bytes, on);
    }

    event_handle make_event() override {
        return make("an event", does_.make_event, without_timing);
    }
    void free_event(event_handle event) noexcept override { call(does_.free_event, event); }
    void record(event_handle event, stream on) override {
        insist("recording an event", does_.record, event, on);
    }
    void let_wait(stream on, event_handle event) override {
        insist("a wait of a stream", does_.let_wait, on, event, 0u);
    }
    bool is_complete(event_handle event) override {
        const int code = call(does_.query, event);
        if (code != not_ready) check(code, earlier_step);
        return code == 0;
    }
    void wait(event_handle event) override { insist(earlier_step, does_.wait, event); }

    stream make_stream() override { return make("a stream", does_.make_stream, beside_default); }
    void free_stream(stream one) noexcept override { call(does_.free_stream, one); }
    void wait_for(stream one) override { insist(earlier_step, does_.wait_for, one); }

    void launch(int kernel, const void* arguments, std::size_t, count_t num_threads,
                stream on) override {
        const count_t num_blocks = (num_threads + threads_per_block - 1) / threads_per_block;
        if (num_blocks >= count_t{1} << 31) refuse(of_, "a kernel has too many threads");
        void* parameters[] = {const_cast<void*>(arguments), &num_threads};
        insist(kernel_names[kernel], does_.launch, kernels_[kernel],
               static_cast<unsigned>(num_blocks), 1u, 1u, threads_per_block, 1u, 1u, 0u, on,
               parameters, nullptr);
    }

  private:
    static constexpr const char* earlier_step = "a step that was enqueued before";

    // The calling thread may have another context, or none.
    template <class Function, class... Arguments>
    int call(Function function, Arguments... arguments) const noexcept {
        does_.push(context_);
        const int code = function(arguments...);
        opaque last = nullptr;
        does_.pop(&last);
        return code;
    }
    template <class Function, class... Arguments>
    void insist(const char* what, Function function, Arguments... arguments) const {
        check(call(function, arguments...), what);
    }
    template <class Function, class... Arguments>
    void* make(const char* what, Function function, Arguments... arguments) const {
        void* made = nullptr;
        insist(what, function, &made, arguments...);
        return made;
    }

    void check(int code, const char* what) const {
        if (code == 0) return;
        const char* text = nullptr;
        does_.error_name(code, &text);
        throw error(code == no_memory ? errc::out_of_memory : errc::invalid_state,
                    std::string(of_.name) + ": " + what + " failed with " +
                        (text ? std::string(text) : "error " + std::to_string(code)));
    }

    const driver_names& of_;
    functions does_;
    opaque context_ = nullptr;
    opaque module_ = nullptr;
    std::array<opaque, num_kernels> kernels_{};
};

// HIP compiles for the device that it finds.
std::string compile_for_hip() {
    void* const library = load_library(hip, {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5"});
    const auto make =
        find<int (*)(void**, const char*, const char*, int, const char**, const char**)>(
            hip, library, "hiprtcCreateProgram");
    const auto compile =
        find<int (*)(void*, int, const char**)>(hip, library, "hiprtcCompileProgram");
    const auto size_of = find<int (*)(void*, std::size_t*)>(hip, library, "hiprtcGetCodeSize");
    const auto get = find<int (*)(void*, char*)>(hip, library, "hiprtcGetCode");
    void* program = nullptr;
    const char* options[] = {"-std=c++17", "-D__HIP__"};
    std::size_t num_bytes = 0;
    if (make(&program, kernels_source, "kernels.hpp", 0, nullptr, nullptr) != 0 ||
        compile(program, 1, options) != 0 || size_of(program, &num_bytes) != 0)
        refuse(hip, "the kernels cannot be compiled");
    std::string code(num_bytes, '\0');
    if (get(program, code.data()) != 0) refuse(hip, "the kernels cannot be compiled");
    return code;
}

}  // namespace

std::shared_ptr<driver> make_cuda() {
    auto made = std::make_shared<real_driver>(cuda);
    made->load(kernels_ptx);
    return made;
}

std::shared_ptr<driver> make_hip() {
    auto made = std::make_shared<real_driver>(hip);
    made->load(compile_for_hip().data());
    return made;
}

}  // namespace crossdock::device
