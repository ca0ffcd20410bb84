#include "bench/gather/ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "bench/common/share.hpp"

namespace crossdock::bench::gather {

namespace {

constexpr std::string_view hex_prefix = "hex:";

std::vector<count_t> columns_of(const share& part) {
    auto places = part.entries;
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    const auto num_items = static_cast<count_t>(part.item_columns.size());
    std::vector<count_t> ids;
    for (const count_t place : places) {
        const count_t column = place < num_items
                                   ? part.item_columns[static_cast<std::size_t>(place)]
                                   : part.slot_columns[static_cast<std::size_t>(place - num_items)];
        ids.push_back(column + 1);
    }
    return ids;
}

struct box_mesh {
    count_t order;
    count_t elements;  // on each rank, along each side
};

box_mesh parse_mesh(const std::string& file, std::string_view partition_spec) {
    box_mesh mesh{0, 0};
    const char* const end = file.data() + file.size();
    const auto first = std::from_chars(file.data() + hex_prefix.size(), end, mesh.order);
    auto stop = first.ptr;
    if (first.ec == std::errc() && stop != end && *stop == ':')
        stop = std::from_chars(stop + 1, end, mesh.elements).ptr;
    constexpr count_t most = 1000;
    if (stop != end || mesh.order < 1 || mesh.elements < 1 || mesh.order > most ||
        mesh.elements > most)
        throw error(
            errc::invalid_argument,
            fmt::format("\"{}\": hex:N:K needs an order N and K elements along a side, both "
                        "in [1, {}]",
                        file, most));
    if (partition_spec != "block")
        throw error(errc::invalid_argument,
                    fmt::format("\"{}\" has its own partition, \"{}\" does not apply", file,
                                partition_spec));
    return mesh;
}

std::vector<count_t> points_of(const communicator& comm, const box_mesh& mesh) {
    std::array<int, 3> ranks{};
    CROSSDOCK_MPI(MPI_Dims_create(comm.num_ranks(), 3, ranks.data()));
    const std::array<count_t, 3> own{comm.rank() % ranks[2], comm.rank() / ranks[2] % ranks[1],
                                     comm.rank() / ranks[2] / ranks[1]};
    const count_t width = ranks[2] * mesh.elements * mesh.order + 1;
    const count_t height = ranks[1] * mesh.elements * mesh.order + 1;
    std::vector<count_t> ids;
    const auto each = [](count_t number, auto&& use) {
        for (count_t i = 0; i < number; ++i) use(i);
    };
    const auto place = [&](std::size_t side, count_t element, count_t point) {
        return (own[side] * mesh.elements + element) * mesh.order + point;
    };
    each(mesh.elements * mesh.elements * mesh.elements, [&](count_t e) {
        const std::array<count_t, 3> element{e % mesh.elements, e / mesh.elements % mesh.elements,
                                             e / mesh.elements / mesh.elements};
        each(mesh.order + 1, [&](count_t z) {
            each(mesh.order + 1, [&](count_t y) {
                each(mesh.order + 1, [&](count_t x) {
                    ids.push_back(1 + place(0, element[0], x) +
                                  width *
                                      (place(1, element[1], y) + height * place(2, element[2], z)));
                });
            });
        });
    });
    return ids;
}

}  // namespace

std::vector<count_t> make_ids(const communicator& comm, const std::string& file,
                              const std::string& partition_spec, const topology& regions) {
    if (file.starts_with(hex_prefix)) return points_of(comm, parse_mesh(file, partition_spec));
    return columns_of(distribute(comm, file, partition_spec, regions));
}

}  // namespace crossdock::bench::gather
