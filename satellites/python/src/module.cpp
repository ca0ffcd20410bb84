#include <array>

#include "crossdock/context.hpp"
#include "support.hpp"

namespace crossdock::python {

namespace {

// Of the MPI that this extension is linked to, as it runs.
std::string mpi_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    CROSSDOCK_MPI(MPI_Get_library_version(text.data(), &length));
    return text.data();
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const error& fault) {
        try {
            const nb::object made = exception_of(fault);
            PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
        } catch (nb::python_error& other) {
            other.restore();
        }
    }
}

}  // namespace

}  // namespace crossdock::python

NB_MODULE(_crossdock, module) {
    using namespace crossdock::python;
    nb::register_exception_translator(translate);
    module.def("mpi_version", mpi_version);
    module.def("configuration", crossdock::configuration);
    module.def("as_array", [](nb::handle given, const std::string& name) {
        return as_array(given, name.c_str());
    });
    bind_context(module);
    bind_pattern(module);
    bind_neighbor(module);
    bind_gather(module);
    bind_sparse(module);
    bind_array(module);
    bind_stream(module);
    bind_planning(module);
    bind_calibration(module);
}
