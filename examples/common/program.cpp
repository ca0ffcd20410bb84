#include "common/program.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <future>
#include <numeric>

namespace examples {

namespace {

constexpr int bad_input = 2;

// For what not all ranks know of: the others would wait forever.
void give_up(const std::exception& fault) {
    fmt::print(stderr, "error: {}\n", fault.what());
    MPI_Abort(MPI_COMM_WORLD, bad_input);
}

int run_on_all_ranks(const program_body& body) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    try {
        const crossdock::context world(MPI_COMM_WORLD);
        const bool is_right = body(world);
        return on_any_rank(!is_right) ? 1 : 0;
    } catch (const crossdock::mpi_error& fault) {
        give_up(fault);
    } catch (const crossdock::error& fault) {
        // The collective calls of the library throw on all ranks or on none.
        if (rank == 0) fmt::print(stderr, "error: {}\n", fault.what());
    } catch (const std::exception& fault) {
        give_up(fault);
    }
    return bad_input;
}

}  // namespace

int run(CLI::App& app, int argc, char** argv, const program_body& body, int thread_support) {
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, thread_support, &provided);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int exit_code = 0;
    try {
        app.parse(argc, argv);
        exit_code = run_on_all_ranks(body);
    } catch (const CLI::ParseError& why) {
        exit_code = rank == 0 ? app.exit(why) : why.get_exit_code();
    }
    std::fflush(nullptr);  // once a rank exits with an error the launcher may end the others
    MPI_Finalize();
    return exit_code;
}

bool report(const crossdock::context& world, const std::string& text, bool is_right) {
    if (world.rank() == 0) {
        fmt::print("{}: {}\n", text,
                   is_right ? "as the serial result" : "NOT as the serial result");
    }
    return is_right;
}

bool on_any_rank(bool condition) {
    int result = condition ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    return result != 0;
}

void run_workers(int num_workers, const std::function<void(int)>& body) {
    std::vector<std::future<void>> others;
    for (int w = 1; w < num_workers; ++w) {
        others.push_back(std::async(std::launch::async, body, w));
    }
    body(0);
    for (auto& other : others) other.get();
}

std::vector<double> parts_on_rank_0(const crossdock::context& world,
                                    const std::vector<double>& part) {
    const int size = static_cast<int>(part.size());
    std::vector<int> sizes(static_cast<std::size_t>(world.num_ranks()));
    MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> firsts(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), firsts.begin(), 0);
    const int num_all = world.rank() == 0 ? firsts.back() + sizes.back() : 0;
    std::vector<double> all(static_cast<std::size_t>(num_all));
    MPI_Gatherv(part.data(), size, MPI_DOUBLE, all.data(), sizes.data(), firsts.data(), MPI_DOUBLE,
                0, MPI_COMM_WORLD);
    return all;
}

}  // namespace examples
