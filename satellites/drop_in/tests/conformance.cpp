/// @file
/// @brief Compares MPI's neighborhood collectives with their PMPI_ twins, byte for byte, at random.
///
///     conformance [--seed S] [--exchanges N] [--verbose]
///
/// With a library that takes MPI_* over, this compares the library with the MPI; without one, the MPI with itself.
/// Needs nothing but an MPI; functions.hpp says by which macros it learns what that one has.
///
/// Topologies are drawn one after the other, on each some episodes: a few exchanges in flight at once, several times,
/// with the same arguments or others. All ranks draw what is called and how much each edge carries from one seed; how a
/// rank lays its data out, and how it completes its requests, it draws for itself. What an MPI fails at itself is left
/// out under the macro OPEN_MPI, or where it is not defined, and said there.
#include <algorithm>
#include <cstdlib>
#include <list>
#include <memory>

#include "conformance/errors.hpp"
#include "conformance/exchange.hpp"
#include "conformance/interlude.hpp"
#include "conformance/requests.hpp"

namespace conformance {
namespace {

struct options {
    std::uint64_t seed = 1;
    long num_exchanges = 1000;
    bool is_verbose = false;
};

// Open MPI looks at the communicator when an alltoallw completes, and crashes if it has been freed.
constexpr bool outlives_communicator([[maybe_unused]] const exchange_choice& choice) {
#ifdef OPEN_MPI
    return choice.which != call::alltoallw;
#else
    return true;
#endif
}

/// An exchange under test, and its twin.
struct compared {
    compared(const exchange_choice& choice, const topology& where, const comm_pair& pair)
        : taken(choice, where, pair.taken, taken_functions),
          twin(choice, where, pair.twin, twin_functions) {}

    exchange taken;
    exchange twin;
};

void compare_side(const std::string& name, const side& got, const side& expected,
                  const std::vector<int>& neighbors, report& found) {
    const auto [at, other] = std::mismatch(got.storage.begin(), got.storage.end(),
                                           expected.storage.begin(), expected.storage.end());
    if (at == got.storage.end() && other == expected.storage.end()) return;
    const auto byte = static_cast<std::size_t>(at - got.storage.begin());
    const int block = got.block_at(byte);
    // What allgather sends goes to all neighbors, of which there may be none.
    const bool has_neighbor = block >= 0 && block < static_cast<int>(neighbors.size());
    const int rank = has_neighbor ? neighbors[static_cast<std::size_t>(block)] : -1;
    char text[256];
    std::snprintf(text, sizeof text, "%s, neighbor %d (rank %d), byte %zu: expected %02x, got %02x",
                  name.c_str(), block, rank, byte, static_cast<unsigned>(*other),
                  static_cast<unsigned>(*at));
    found.difference(text + std::string(block < 0 ? " (in a gap or a guard)" : ""));
}

class program {
  public:
    explicit program(const options& given)
        : options_(given), shared_(given.seed), found_(given.seed, world_rank(), given.is_verbose) {
        PMPI_Comm_dup(MPI_COMM_WORLD, &messages_);
        PMPI_Comm_dup(MPI_COMM_WORLD, &everyone_);
        PMPI_Comm_split(MPI_COMM_WORLD, world_rank() % 2, 0, &half_);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;
    ~program() {
        for (auto* comm : {&messages_, &everyone_, &half_}) PMPI_Comm_free(comm);
    }

    /// Returns the exit status, the same on all ranks.
    int run() {
        compare_errors(found_);
        while (num_exchanges_ < options_.num_exchanges &&
               found_.num_differences() < report::max_differences) {
            topology where(shared_);
            const int num_episodes = 1 + shared_.below(8);
            const bool frees_early = shared_.chance(30);
            for (int i = 0; i < num_episodes && num_exchanges_ < options_.num_exchanges; ++i)
                run_episode(where, frees_early && i == num_episodes - 1);
        }
        const long num_differences = found_.num_differences();
        if (world_rank() == 0)
            std::printf("conformance: %ld exchanges, %ld differences\n", num_exchanges_,
                        num_differences);
        return num_differences == 0 ? 0 : 1;
    }

  private:
    static int world_rank() {
        int rank = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        return rank;
    }

    // Some exchanges at once, several times; those that block are called while others are in flight.
    void run_episode(topology& where, bool frees_communicator) {
        const bool is_blocking = shared_.chance(30);
        const int lengths[] = {1, 1, 1, 3, 3, 8, 20, 60};
        const int num_rounds = lengths[shared_.below(8)];
        std::list<compared> all;
        std::string name = where.name();
        for (int left = is_blocking ? 1 : 1 + shared_.below(4); left > 0; --left) {
            const auto choice =
                exchange_choice::draw(is_blocking ? form::blocking : draw_form(), shared_);
            const auto pair = shared_.next() % where.pairs().size();
            all.emplace_back(choice, where, where.pairs()[pair]);
            name += ", " + choice.name();
            frees_communicator = frees_communicator && outlives_communicator(choice);
        }
        const bool has_ring = !is_blocking && shared_.chance(40);
        const bool is_ring_persistent = shared_.chance(50);
        const int ring_values = shared_.chance(80) ? shared_.below(20) : 5000;
        std::unique_ptr<ring_message> ring;
        if (has_ring)
            ring = std::make_unique<ring_message>(messages_, 7, ring_values, is_ring_persistent);
        for (int round = 0; round < num_rounds; ++round) {
            interlude between(shared_, everyone_, half_, found_);
            found_.enter(num_exchanges_, name + between.name());
            run_round(where, all, ring.get(), between, round,
                      frees_communicator && round == num_rounds - 1);
            num_exchanges_ += static_cast<long>(all.size());
        }
    }

    form draw_form() {
        const int kind = shared_.below(10);
        if (kind == 0) return form::blocking;
        return has_persistent() && kind < 6 ? form::persistent : form::nonblocking;
    }

    void run_round(topology& where, std::list<compared>& all, ring_message* ring,
                   interlude& between, int round, bool frees_communicator) {
        random_numbers own(hash_of(options_.seed, num_exchanges_, world_rank()));
        for (auto& one : all) one.taken.prepare(round);
        if (ring != nullptr) ring->start(round);
        start(all, ring, round, own);
        if (frees_communicator) where.free_taken();
        between.before_wait();
        complete(all, ring, round, own);
        between.after_wait();
        for (auto& one : all) {
            one.twin.prepare(round);
            if (round == 0) one.twin.initialize();
            one.twin.start();
            one.twin.wait();
            const auto name = one.twin.choice().name();
            compare_side(name + "'s receive buffer", one.taken.received(), one.twin.received(),
                         where.sources(), found_);
            compare_side(name + "'s send buffer", one.taken.sent(), one.twin.sent(),
                         where.destinations(), found_);
        }
    }

    // Calls come in the same order on all ranks, the starts of persistent requests in any, one by one or together.
    void start(std::list<compared>& all, ring_message* ring, int round, random_numbers& own) {
        std::vector<MPI_Request*> places;
        for (auto& one : all) {
            if (round == 0) one.taken.initialize();
            if (one.taken.request != MPI_REQUEST_NULL) places.push_back(&one.taken.request);
        }
        if (ring != nullptr && ring->is_persistent())
            places.insert(places.end(), {&ring->requests[0], &ring->requests[1]});
        own.shuffle(places);
        auto requests = values_of(places);
        if (own.chance(50)) {
            MPI_Startall(static_cast<int>(requests.size()), requests.data());
        } else {
            for (auto& request : requests) MPI_Start(&request);
        }
        for (std::size_t i = 0; i < places.size(); ++i) *places[i] = requests[i];
        for (auto& one : all)
            if (one.taken.choice().how != form::persistent) one.taken.start();
    }

    static std::vector<MPI_Request> values_of(const std::vector<MPI_Request*>& places) {
        std::vector<MPI_Request> requests;
        requests.reserve(1);  // Open MPI wants an address even of no request.
        for (const auto* place : places) requests.push_back(*place);
        return requests;
    }

    // In one array with null requests and one that is inactive, in any order.
    void complete(std::list<compared>& all, ring_message* ring, int round, random_numbers& own) {
        MPI_Request inactive = MPI_REQUEST_NULL;
        MPI_Request none = MPI_REQUEST_NULL;
        int unused = 0;
        if (own.chance(30)) MPI_Recv_init(&unused, 1, MPI_INT, 0, 8, messages_, &inactive);
        std::vector<MPI_Request*> places;
        for (auto& one : all) places.push_back(&one.taken.request);
        if (ring != nullptr) places.insert(places.end(), {&ring->requests[0], &ring->requests[1]});
        const auto num_active = static_cast<int>(std::count_if(
            places.begin(), places.end(), [](auto* r) { return *r != MPI_REQUEST_NULL; }));
        if (own.chance(30)) places.insert(places.end(), {&none, &inactive});
        own.shuffle(places);
        auto requests = values_of(places);

        auto how = static_cast<completion>(own.below(num_completions));
#ifndef OPEN_MPI
        // These two of MPICH 5.0 give MPI_ERR_IN_STATUS while a persistent collective is not complete.
        const auto is_persistent = [](const auto& one) {
            return one.taken.choice().how == form::persistent;
        };
        if ((how == completion::testall || how == completion::get_status_all) &&
            std::any_of(all.begin(), all.end(), is_persistent))
            how = completion::waitall;
#endif
        completer done(requests, own, found_);
        done.complete(how, num_active);

        for (std::size_t i = 0; i < places.size(); ++i) {
            *places[i] = requests[i];
            if (ring != nullptr && places[i] == &ring->requests[0])
                ring->check(round, done.status(i), found_);
        }
        for (const auto& one : all) {
            if (one.taken.choice().how == form::nonblocking &&
                one.taken.request != MPI_REQUEST_NULL)
                found_.difference("a completed request is not null");
        }
        if (inactive != MPI_REQUEST_NULL) MPI_Request_free(&inactive);
    }

    options options_;
    random_numbers shared_;  // draws the same numbers on all ranks
    report found_;
    MPI_Comm messages_ = MPI_COMM_NULL;
    MPI_Comm everyone_ = MPI_COMM_NULL;
    MPI_Comm half_ = MPI_COMM_NULL;
    long num_exchanges_ = 0;
};

options parse(int argc, char** argv) {
    options given;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--verbose") {
            given.is_verbose = true;
            continue;
        }
        if (name == "--seed")
            given.seed = std::strtoull(value, nullptr, 10);
        else if (name == "--exchanges")
            given.num_exchanges = std::strtol(value, nullptr, 10);
        else {
            std::fprintf(stderr, "usage: conformance [--seed S] [--exchanges N] [--verbose]\n");
            std::exit(2);
        }
        ++i;
    }
    return given;
}

}  // namespace
}  // namespace conformance

int main(int argc, char** argv) {
    const auto given = conformance::parse(argc, argv);
    MPI_Init(&argc, &argv);
    const int status = conformance::program(given).run();
    MPI_Finalize();
    return status;
}
