#include "bench/hypre/level_contest.hpp"

#ifdef CROSSDOCK_HAS_HYPRE

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "bench/common/all_ranks.hpp"
#include "bench/hypre/boomer_amg.hpp"

namespace crossdock::bench {

namespace {

// As hypre's product does it, but with a buffer that is kept.
class hypre_exchange final : public contender {
  public:
    hypre_exchange(const exchange_task& task, hypre_ParCSRCommPkg* package)
        : task_(task), package_(package), packed_(task) {}

    void start() override {
        packed_.pack();
        const HYPRE_Int doubles = 1;
        handle_ =
            hypre_ParCSRCommHandleCreate(doubles, package_, packed_.data(), task_.slots.data());
    }
    void test() override {}
    void wait() override { hypre_ParCSRCommHandleDestroy(handle_); }
    traffic sent() const override { return direct_traffic(task_.where.topology(), task_.what); }

  private:
    exchange_task task_;
    hypre_ParCSRCommPkg* package_;
    packed_items packed_;
    hypre_ParCSRCommHandle* handle_ = nullptr;
};

entrant by_hypre(hypre_ParCSRCommPkg* package) {
    return {"hypre", "", false, "",
            [package](const exchange_task& task) -> std::unique_ptr<contender> {
                return std::make_unique<hypre_exchange>(task, package);
            }};
}

// What one rank exchanges on one level.
struct level_arrays {
    pattern what;
    std::vector<double> items;
    std::vector<double> slots;

    level_arrays(const context& where, hypre_ParCSRMatrix* matrix)
        : what(pattern_from_hypre(where, hypre_ParCSRMatrixCommPkg(matrix))),
          items(static_cast<std::size_t>(hypre_ParCSRMatrixNumCols(matrix))),
          slots(static_cast<std::size_t>(what.num_slots)) {
        auto place = static_cast<double>(hypre_ParCSRMatrixFirstColDiag(matrix));
        for (double& item : items) item = std::sin(place++);
    }

    exchange_task task(const context& where) {
        return {where,
                what,
                {},
                direction::forward,
                sizeof(double),
                std::as_writable_bytes(std::span(items)),
                std::as_writable_bytes(std::span(slots))};
    }

    std::vector<double> exchanged_by(contender& one) {
        std::ranges::fill(slots, std::numeric_limits<double>::quiet_NaN());
        one.exchange();
        return slots;
    }
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

sent_counts over_ranks(const communicator& comm, const traffic& own, MPI_Op operation) {
    std::array<count_t, 4> counts{own.inter_region_messages, own.inter_region_items,
                                  own.messages - own.inter_region_messages,
                                  own.items - own.inter_region_items};
    CROSSDOCK_MPI(MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()),
                                MPI_INT64_T, operation, comm.get()));
    return {counts[0], counts[1], counts[2], counts[3]};
}

// Exchanges until further ones are alike, each of which must be right.
level_standing checked(const context& where, level_arrays& arrays, const std::string& name,
                       contender& one, const std::vector<double>& expected) {
    bool is_right = true;
    do {
        is_right = same_bits(arrays.exchanged_by(one), expected) && is_right;
    } while (!one.is_settled());
    return {name,
            is_true_on_all(where, is_right),
            one.route(),
            over_ranks(where, one.sent(), MPI_MAX),
            over_ranks(where, one.sent(), MPI_SUM),
            {},
            {}};
}

count_t num_entries(const communicator& comm, hypre_ParCSRMatrix* matrix) {
    const count_t own = hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixDiag(matrix)) +
                        hypre_CSRMatrixNumNonzeros(hypre_ParCSRMatrixOffd(matrix));
    return sum_over_ranks(comm, {own, 0, 0, 0})[0];
}

}  // namespace

std::vector<level_standings> contest_levels(const context& where, const std::string& problem,
                                            const std::vector<entrant>& others,
                                            const level_contest_options& options) {
    const boomer_amg amg(where, problem);
    std::vector<level_arrays> arrays;
    for (auto* matrix : amg.levels()) arrays.emplace_back(where, matrix);
    const std::size_t num_entrants = others.size() + 1;
    const std::size_t num_all = num_entrants * arrays.size();
    std::vector<std::unique_ptr<contender>> contenders(num_all);
    const auto make = [&](std::size_t c) {
        const std::size_t level = c / num_entrants;
        const std::size_t e = c % num_entrants;
        auto* const package = hypre_ParCSRMatrixCommPkg(amg.levels()[level]);
        const auto entry = e == 0 ? by_hypre(package) : others[e - 1];
        contenders[c] = entry.set_up(arrays[level].task(where));
        contenders[c]->exchange();
    };
    stopwatch setups(where, num_all, options.setups);
    setups.time_in_turn([&](std::size_t c) { contenders[c].reset(); }, make);

    std::vector<level_standings> found;
    for (std::size_t level = 0; level < arrays.size(); ++level) {
        auto* const matrix = amg.levels()[level];
        auto& of_level = found.emplace_back();
        of_level.num_rows = hypre_ParCSRMatrixGlobalNumRows(matrix);
        of_level.num_entries = num_entries(where, matrix);
        const std::size_t first = level * num_entrants;
        const auto expected = arrays[level].exchanged_by(*contenders[first]);
        for (std::size_t e = 0; e < num_entrants; ++e)
            of_level.standings.push_back(checked(where, arrays[level],
                                                 e == 0 ? "hypre" : others[e - 1].name,
                                                 *contenders[first + e], expected));
    }

    stopwatch exchanges(where, num_all, options.runs, options.iterations);
    exchanges.time_in_turn([](std::size_t) {}, [&](std::size_t c) { contenders[c]->exchange(); });
    const auto setup_seconds = setups.slowest();
    const auto exchange_seconds = exchanges.slowest();
    for (std::size_t c = 0; where.rank() == 0 && c < num_all; ++c) {
        auto& one = found[c / num_entrants].standings[c % num_entrants];
        one.setup_seconds = setup_seconds[c];
        one.exchange_seconds = exchange_seconds[c];
    }
    return found;
}

}  // namespace crossdock::bench

#else

namespace crossdock::bench {

std::vector<level_standings> contest_levels(const context&, const std::string&,
                                            const std::vector<entrant>&,
                                            const level_contest_options&) {
    throw error(errc::invalid_argument, "this build has no hypre");
}

}  // namespace crossdock::bench

#endif
