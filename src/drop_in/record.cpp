#include "record.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <vector>

namespace crossdock::drop_in {

namespace {

// What all ranks send, on the first rank: their words one after the other.
struct gathered {
    std::vector<int> sizes;
    std::vector<count_t> words;
};

gathered gather(const communicator& comm, const std::vector<count_t>& own) {
    gathered all;
    const auto num_ranks = static_cast<std::size_t>(comm.num_ranks());
    const int size = checked_cast<int>(std::ssize(own));
    all.sizes.resize(num_ranks);
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(
        MPI_Igather(&size, 1, MPI_INT, all.sizes.data(), 1, MPI_INT, 0, comm.get(), &request));
    comm.wait(request);
    std::vector<int> begins(num_ranks);
    if (comm.rank() == 0) {
        std::exclusive_scan(all.sizes.begin(), all.sizes.end(), begins.begin(), 0);
        all.words.resize(static_cast<std::size_t>(begins.back() + all.sizes.back()));
    }
    CROSSDOCK_MPI(MPI_Igatherv(own.data(), size, MPI_INT64_T, all.words.data(), all.sizes.data(),
                               begins.data(), MPI_INT64_T, 0, comm.get(), &request));
    comm.wait(request);
    return all;
}

}  // namespace

void record_pattern(const context& where, const pattern& p, int number, int plan, int bytes) {
    static const char* const folder = std::getenv("CROSSDOCK_RECORD");
    if (folder == nullptr) return;
    // The number of rows, then for each entry the rank whose row it is in, and the item.
    std::vector<count_t> own{std::max<count_t>(p.num_items, 1)};
    for (std::size_t i = 0; i < p.sends.ranks.size(); ++i) {
        if (p.sends.ranks[i] == p.rank) continue;
        for (const auto item : p.sends[i]) {
            own.push_back(p.sends.ranks[i]);
            own.push_back(item);
        }
    }
    const auto all = gather(where.comm(), own);
    if (where.rank() != 0) return;
    std::vector<count_t> first_rows;
    count_t num_rows = 0, num_entries = 0;
    std::size_t at = 0;
    for (const int size : all.sizes) {
        first_rows.push_back(num_rows);
        num_rows += all.words[at];
        num_entries += (size - 1) / 2;
        at += static_cast<std::size_t>(size);
    }
    int world_rank = 0;
    CROSSDOCK_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &world_rank));
    const auto name = fmt::format(
        "{}graph{}.{}", world_rank > 0 ? fmt::format("rank{}.", world_rank) : "", number, plan);
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    std::ofstream matrix(std::filesystem::path(folder) / (name + ".mtx"));
    std::ofstream owners(std::filesystem::path(folder) / (name + ".owners"));
    matrix << "%%MatrixMarket matrix coordinate pattern general\n% items of " << bytes << " bytes\n"
           << num_rows << ' ' << num_rows << ' ' << num_entries << '\n';
    at = 0;
    for (std::size_t rank = 0; rank < all.sizes.size(); ++rank) {
        const auto end = at + static_cast<std::size_t>(all.sizes[rank]);
        for (count_t row = 0; row < all.words[at]; ++row) owners << rank << '\n';
        for (++at; at < end; at += 2)
            matrix << first_rows[static_cast<std::size_t>(all.words[at])] + 1 << ' '
                   << first_rows[rank] + all.words[at + 1] + 1 << '\n';
    }
}

}  // namespace crossdock::drop_in
