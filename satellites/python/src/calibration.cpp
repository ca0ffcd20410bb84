#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "crossdock/discover_topology.hpp"
#include "support.hpp"
#include "tools/calibration/calibrate.hpp"

namespace crossdock::python {

namespace {

using fit_errors = std::vector<std::pair<std::string, double>>;

// The machine as JSON, and how far what was measured is off it.
std::pair<std::string, fit_errors> calibrated(const shared_context& state, nb::handle seconds,
                                              nb::handle name, const std::string& mpi) {
    const auto read_all = [&] {
        calibration_options options;
        read(options.seconds, seconds, "seconds");
        read(options.name, name, "name");
        return options;
    };
    return agree_and_use(
        *state, read_all,
        [mpi](const context& where, calibration_options& options) {
            const rank_layout layout(where.topology(),
                                     where.nodes() ? *where.nodes() : discover_topology(where));
            options.description = mpi + ", regions " + layout.regions().to_string() + ", nodes " +
                                  layout.nodes().to_string();
            const auto result = calibrate(where, layout, options);
            fit_errors errors;
            for (const auto& one : result.errors)
                errors.emplace_back(one.group, one.relative_error);
            return std::pair(to_json(result.found), std::move(errors));
        },
        "a machine");
}

}  // namespace

void bind_calibration(nb::module_& module) {
    define(module, "calibrated", &calibrated);
    module.def("machine_json",
               [](const std::string& name_or_path) { return to_json(load_machine(name_or_path)); });
}

}  // namespace crossdock::python
