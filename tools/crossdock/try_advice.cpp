#include "tools/crossdock/try_advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace crossdock::tool {

namespace {

// The fields of an object in C++ and in C.
struct field {
    const char* name;
    std::string value;
};

std::string quoted(const std::string& text) { return '"' + text + '"'; }

std::vector<field> fields_of_context(const measured_way& way) {
    std::vector<field> fields;
    if (!way.topology.empty()) fields.push_back({"topology", quoted(way.topology)});
    if (!way.nodes.empty()) fields.push_back({"nodes", quoted(way.nodes)});
    return fields;
}

std::vector<field> fields_of_exchange(const measured_way& way) {
    std::vector<field> fields{{"route", quoted(way.route)}};
    if (!way.executor.empty()) fields.push_back({"executor", quoted(way.executor)});
    if (way.item_bytes != 8) fields.push_back({"item_bytes", fmt::to_string(way.item_bytes)});
    return fields;
}

std::string in_cxx(const std::vector<field>& fields) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : fields) texts.push_back(fmt::format(".{} = {}", name, value));
    return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string in_c(const char* object, const std::vector<field>& fields) {
    std::string text;
    for (const auto& [name, value] : fields)
        text += fmt::format("{}.{} = {};\n", object, name, value);
    return text;
}

std::string cxx_of(const measured_way& way) {
    std::string text;
    if (const auto fields = fields_of_context(way); !fields.empty())
        text = fmt::format("crossdock::context world(MPI_COMM_WORLD, {});\n", in_cxx(fields));
    return text + fmt::format("crossdock::neighbor_exchange halo(world, pattern, {});",
                              in_cxx(fields_of_exchange(way)));
}

std::string c_of(const measured_way& way) {
    std::string text;
    if (const auto fields = fields_of_context(way); !fields.empty())
        text = "crossdock_context_options where = CROSSDOCK_CONTEXT_OPTIONS_INIT;\n" +
               in_c("where", fields) +
               "crossdock_context_create(MPI_COMM_WORLD, &where, &world);\n";
    return text + "crossdock_neighbor_options how = CROSSDOCK_NEIGHBOR_OPTIONS_INIT;\n" +
           in_c("how", fields_of_exchange(way)) +
           "crossdock_neighbor_exchange_create(world, pattern, &how, &halo);";
}

}  // namespace

json advice_json(const measured_way& way) {
    json advice{
        {"cxx", cxx_of(way)}, {"c", c_of(way)}, {"environment", nullptr}, {"drop_in", nullptr}};
    if (!way.nodes.empty()) return advice;
    std::string environment = "CROSSDOCK_ROUTE=" + way.route;
    std::string flags = "--route " + way.route;
    if (!way.topology.empty()) {
        environment += " CROSSDOCK_TOPOLOGY=" + way.topology;
        flags += " --topology " + way.topology;
    }
    if (!way.executor.empty()) {
        environment += " CROSSDOCK_EXECUTOR=" + way.executor;
        flags += " --executor " + way.executor;
    }
    advice["environment"] = environment;
    advice["drop_in"] =
        fmt::format("crossdock run {} -- mpirun -n {} ./program", flags, way.num_ranks);
    return advice;
}

}  // namespace crossdock::tool
