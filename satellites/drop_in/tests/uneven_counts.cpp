// Calls whose counts have come to differ from those of the plan, at either end of an edge: what MPI delivers comes, and
// what MPI refuses is MPI_ERR_TRUNCATE on the rank whose block is too short, and nowhere else.
//
//     uneven_counts [SEED]
//
// CROSSDOCK_SOAK_EXCHANGES says how many calls there are. All ranks draw the same graphs and lengths. Where no block is
// too long, what comes is also compared with what PMPI_ brings. Where calls may be MPI's, none that is long is, and
// without a route none: Open MPI 4.1 writes beyond the block and may crash. Its MPI_Alltoallw fails also where a rank's
// block for itself is shorter than its room.
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "conformance/random.hpp"
#include "world.hpp"

namespace {

using conformance::hash_of;
using conformance::random_numbers;

// How a block's bytes lie: alone, as integers, with a gap after each integer, or in values of three such integers.
enum layout { bytes, integers, apart, triples, num_layouts };

class datatypes {
  public:
    datatypes() : all_{MPI_BYTE, MPI_INT, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL} {
        MPI_Type_create_resized(MPI_INT, 0, 8, &all_[apart]);
        MPI_Type_contiguous(3, all_[apart], &all_[triples]);
        for (const auto one : {apart, triples}) MPI_Type_commit(&all_[one]);
    }
    ~datatypes() {
        for (const auto one : {apart, triples}) MPI_Type_free(&all_[one]);
    }
    datatypes(const datatypes&) = delete;
    datatypes& operator=(const datatypes&) = delete;

    MPI_Datatype operator[](layout how) const { return all_[how]; }
    static int size(layout how) { return how == bytes ? 1 : how == triples ? 12 : 4; }
    static std::size_t place(layout how, int byte) {
        return static_cast<std::size_t>(how < apart ? byte : byte / 4 * 8 + byte % 4);
    }

  private:
    std::array<MPI_Datatype, num_layouts> all_;
};

struct edge {
    int source, destination, planned;
};

// Of an edge, in one call.
struct lengths {
    int sent, room;
    layout send_layout, receive_layout;
    bool is_marked;  // begins as what the library puts in the place of a block that comes alone
};

// What is called; all ranks of a call are neighbors in order.
enum function { alltoallw, alltoallv, allgatherv, all_ranks };

constexpr std::uint64_t mark = 0xfbb6'c197'e3d9'5ba5;
constexpr std::byte untouched{0xee};
constexpr int longest_cut = 4000;  // bytes that are sent in a call that may be MPI's

std::byte value(std::uint64_t call, std::size_t sender, bool is_marked, int byte) {
    if (is_marked && byte < 8) return static_cast<std::byte>(mark >> 8 * byte);
    return static_cast<std::byte>(hash_of(call, sender, byte));
}

// One side of a call: a buffer, and a block for each edge of this rank.
struct side {
    std::vector<int> counts{}, places{};
    std::vector<MPI_Aint> displacements{};
    std::vector<MPI_Datatype> types{};
    std::vector<std::byte> buffer = std::vector<std::byte>(guard, untouched);

    static constexpr std::size_t guard = 8;

    void add(int length, layout how, const datatypes& all) {
        const auto at = buffer.size();
        counts.push_back(length / datatypes::size(how));
        places.push_back(static_cast<int>(at / 4));
        displacements.push_back(static_cast<MPI_Aint>(at));
        types.push_back(all[how]);
        const auto end = (at + datatypes::place(how, length) + 2 * guard - 1) / guard * guard;
        buffer.resize(end, untouched);
    }
};

struct drawn_call {
    std::uint64_t number = 0;
    std::vector<lengths> of{};  // each edge
    bool is_cut = false;        // on some rank
    side sends{}, receives{};
    std::vector<std::byte> expected{};
    bool is_cut_here = false;
};

class test {
  public:
    test(world& in, std::uint64_t seed) : in_(in), shared_(seed) {}

    void run(long num_calls) {
        while (static_cast<long>(num_calls_) < num_calls && in_.num_faults < 5) run_graph();
    }

  private:
    void run_graph() {
        const bool is_all = takes_all_ranks_ && is_forced_ && shared_.chance(30);
        function_ = is_all ? all_ranks : static_cast<function>(shared_.below(3));
        draw_edges();
        MPI_Comm taken = MPI_COMM_NULL, twin = MPI_COMM_NULL;
        make(taken, twin);
        const int num_calls = 1 + shared_.below(24);
        for (int call = 0; call < num_calls; ++call) {
            const bool is_pair = shared_.chance(20);
            const bool is_nonblocking = is_pair || shared_.chance(30);
            has_plan_ = call < 4 && !is_nonblocking && (call == 0 || has_plan_);
            std::vector<drawn_call> calls(is_pair ? 2 : 1);
            if (is_pair) ++call;
            for (auto& one : calls) {
                one.number = num_calls_++;
                draw(one, call == 0 ? 0 : shared_.below(is_forced_ && !is_pair ? 4 : 3));
            }
            if (is_nonblocking)
                run_nonblocking(taken, calls);
            else
                check(calls[0], run_one(taken, calls[0], nullptr));
            if (function_ != all_ranks)
                for (const auto& one : calls)
                    if (!one.is_cut) compare_with_mpi(twin, one);
        }
        MPI_Comm_free(&taken);
        PMPI_Comm_free(&twin);
    }

    void draw_edges() {
        edges_.clear();
        const int num_ranks = in_.num_ranks;
        const auto length = [&] {
            constexpr std::array all{0, 0, 4, 4, 12, 24, 40, 400, 4000, 60000};
            return shared_.chance(10) && function_ == alltoallw
                       ? shared_.below(30)
                       : all[static_cast<std::size_t>(shared_.below(static_cast<int>(all.size())))];
        };
        std::vector<int> of_rank;
        for (int rank = 0; rank < num_ranks; ++rank) of_rank.push_back(length());
        for (int source = 0; source < num_ranks; ++source)
            for (int destination = 0; destination < num_ranks; ++destination) {
                int number = function_ == all_ranks ? 1 : shared_.below(3);
                // Two edges of one pair, now and then; on all ranks few edges of each.
                if (function_ != all_ranks && num_ranks > 4 && shared_.chance(40)) number = 0;
                for (; number > 0; --number)
                    edges_.push_back({source, destination,
                                      function_ == allgatherv
                                          ? of_rank[static_cast<std::size_t>(source)]
                                          : length()});
            }
    }

    void make(MPI_Comm& taken, MPI_Comm& twin) const {
        if (function_ == all_ranks) {
            MPI_Comm_dup(MPI_COMM_WORLD, &taken);
            PMPI_Comm_dup(MPI_COMM_WORLD, &twin);
        } else {
            make_graph(MPI_Dist_graph_create_adjacent, taken);
            make_graph(PMPI_Dist_graph_create_adjacent, twin);
        }
        MPI_Comm_set_errhandler(taken, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
    }

    template <class Create>
    void make_graph(Create create, MPI_Comm& made) const {
        std::vector<int> sources, destinations;
        for (const auto& one : edges_) {
            if (one.destination == in_.rank) sources.push_back(one.source);
            if (one.source == in_.rank) destinations.push_back(one.destination);
        }
        const std::vector<int> weights(1 + std::max(sources.size(), destinations.size()), 1);
        create(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(), weights.data(),
               static_cast<int>(destinations.size()), destinations.data(), weights.data(),
               MPI_INFO_NULL, 0, &made);
    }

    // `kind` 0: as planned; 1: other lengths at both ends alike, too; 2: more room than is sent, too; 3: less, too.
    void draw(drawn_call& made, int kind) {
        std::vector<int> of_rank(static_cast<std::size_t>(in_.num_ranks), -1);
        for (const auto& one : edges_) made.of.push_back(draw(one, kind, of_rank));
        for (std::size_t i = 0; i < edges_.size(); ++i) {
            const auto& one = made.of[i];
            const bool is_cut = one.sent > one.room;
            made.is_cut = made.is_cut || is_cut;
            if (edges_[i].destination == in_.rank) {
                made.receives.add(one.room, one.receive_layout, types_);
                made.is_cut_here = made.is_cut_here || is_cut;
            }
            const bool is_next = function_ != allgatherv || made.sends.counts.empty();
            if (edges_[i].source == in_.rank && is_next) {
                made.sends.add(one.sent, one.send_layout, types_);
                write(made.sends, made.sends.counts.size() - 1, one.send_layout, one.sent, made, i);
            }
        }
        if (made.sends.counts.empty()) made.sends.add(0, integers, types_);
        auto filled = made.receives;
        std::size_t block = 0;
        for (std::size_t i = 0; i < edges_.size(); ++i)
            if (edges_[i].destination == in_.rank)
                write(filled, block++, made.of[i].receive_layout,
                      std::min(made.of[i].sent, made.of[i].room), made, i);
        made.expected = std::move(filled.buffer);
    }

    lengths draw(const edge& one, int kind, std::vector<int>& of_rank) {
        const bool is_shared = function_ == allgatherv;
        auto& known = of_rank[static_cast<std::size_t>(one.source)];
        const auto other = [&](int length) {
            const int step = length % 4 == 0 ? 4 : 1;
            return std::max(
                function_ == all_ranks ? 4 : 0,
                length + step * (shared_.below(12) - 4) + (shared_.chance(3) ? 40000 : 0));
        };
        lengths made{one.planned, one.planned, integers, integers, shared_.chance(10)};
        if (kind > 0 && shared_.chance(30)) made.sent = made.room = other(one.planned);
        if (is_shared && known >= 0) made.sent = known;
        known = made.sent;
        if (is_shared) made.room = made.sent;
        // With all ranks, MPI's own calls send nothing where nothing is to be sent.
        if (kind > 1 && (function_ != all_ranks || one.planned > 0) && shared_.chance(30)) {
            const int drawn = other(one.planned);
            const int least = std::min(drawn, made.sent), most = std::max(drawn, made.sent);
            const bool is_cut =
                kind == 3 && shared_.chance(30) && (has_plan_ || most <= longest_cut);
            if (is_shared)
                made.room = is_cut ? least : most;
            else
                made.sent = is_cut ? most : least, made.room = is_cut ? least : most;
        }
        if (is_shared) made.is_marked = hash_of(num_calls_, one.source) % 10 == 0;
        const auto draw_layout = [&](int length) {
            const bool has_layouts = function_ == alltoallw || function_ == all_ranks;
            const bool is_odd = made.sent % 4 != 0 || made.room % 4 != 0;
            const auto how = static_cast<layout>(shared_.below(num_layouts));
            if (is_odd) return bytes;
            return !has_layouts || length % datatypes::size(how) != 0 ? integers : how;
        };
        made.send_layout = draw_layout(made.sent);
        made.receive_layout = draw_layout(made.room);
        return made;
    }

    // What comes along an edge.
    void write(side& to, std::size_t block, layout how, int length, const drawn_call& call,
               std::size_t number) const {
        const auto sender =
            function_ == allgatherv ? static_cast<std::size_t>(edges_[number].source) : number;
        auto* const at = to.buffer.data() + to.displacements[block];
        for (int i = 0; i < length; ++i)
            at[datatypes::place(how, i)] = value(call.number, sender, call.of[number].is_marked, i);
    }

    template <class W, class V, class G, class A, class... Last>
    int invoke(W w, V v, G g, A a, drawn_call& call, std::byte* to, Last... last) const {
        // Open MPI wants addresses even where there is no neighbor.
        for (auto* const one : {&call.sends, &call.receives})
            one->counts.reserve(1), one->places.reserve(1), one->displacements.reserve(1),
                one->types.reserve(1);
        auto& [counts, places, displacements, types, buffer] = call.sends;
        auto& other = call.receives;
        if (function_ == allgatherv)
            return g(buffer.data() + displacements[0], counts[0], types[0], to, other.counts.data(),
                     other.places.data(), MPI_INT, last...);
        if (function_ == alltoallv)
            return v(buffer.data(), counts.data(), places.data(), MPI_INT, to, other.counts.data(),
                     other.places.data(), MPI_INT, last...);
        if (function_ == alltoallw)
            return w(buffer.data(), counts.data(), displacements.data(), types.data(), to,
                     other.counts.data(), other.displacements.data(), other.types.data(), last...);
        const std::vector<int> from_places(displacements.begin(), displacements.end()),
            to_places(other.displacements.begin(), other.displacements.end());
        return a(buffer.data(), counts.data(), from_places.data(), types.data(), to,
                 other.counts.data(), to_places.data(), other.types.data(), last...);
    }

    // With a request: starts it.
    int run_one(MPI_Comm comm, drawn_call& call, MPI_Request* request) const {
        auto* const to = call.receives.buffer.data();
        if (request == nullptr)
            return invoke(MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallv, MPI_Neighbor_allgatherv,
                          MPI_Alltoallw, call, to, comm);
        // What a call is told of displacements with all ranks is borrowed until it is complete.
        if (function_ == all_ranks) {
            *request = MPI_REQUEST_NULL;
            return run_one(comm, call, nullptr);
        }
        return invoke(MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallv, MPI_Ineighbor_allgatherv,
                      MPI_Ialltoallw, call, to, comm, request);
    }

    void run_nonblocking(MPI_Comm comm, std::vector<drawn_call>& calls) {
        std::vector<MPI_Request> requests(calls.size(), MPI_REQUEST_NULL);
        std::vector<int> codes;
        for (std::size_t i = 0; i < calls.size(); ++i)
            codes.push_back(run_one(comm, calls[i], &requests[i]));
        random_numbers own(hash_of(num_calls_, in_.rank));
        const std::size_t first = own.next() % calls.size();
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const auto one = (first + i) % calls.size();
            if (requests[one] != MPI_REQUEST_NULL)
                codes[one] = MPI_Wait(&requests[one], MPI_STATUS_IGNORE);
        }
        for (std::size_t i = 0; i < calls.size(); ++i) check(calls[i], codes[i]);
    }

    static int class_of(int code) {
        int is = MPI_SUCCESS;
        if (code != MPI_SUCCESS) MPI_Error_class(code, &is);
        return is;
    }

    std::string name(const drawn_call& call) const {
        constexpr std::array names{"alltoallw", "alltoallv", "allgatherv", "all ranks"};
        return "call " + std::to_string(call.number) + ", " + names[function_];
    }

    void check(const drawn_call& call, int code) {
        const int expected = call.is_cut_here ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
        in_.expect(class_of(code) == expected, name(call) + ": error class " +
                                                   std::to_string(class_of(code)) + ", expected " +
                                                   std::to_string(expected));
        if (call.is_cut_here) return;
        const auto& got = call.receives.buffer;
        const auto at = std::mismatch(got.begin(), got.end(), call.expected.begin()).first;
        if (at == got.end()) return;
        std::string text = name(call) + ": byte " + std::to_string(at - got.begin()) + " of " +
                           std::to_string(got.size()) + " differs";
        for (std::size_t i = 0; i < edges_.size(); ++i)
            if (edges_[i].destination == in_.rank)
                text += "; from " + std::to_string(edges_[i].source) + " " +
                        std::to_string(edges_[i].planned) + " planned, " +
                        std::to_string(call.of[i].sent) + " sent, room for " +
                        std::to_string(call.of[i].room) + ", laid out as " +
                        std::to_string(call.of[i].receive_layout);
        in_.expect(false, text);
    }

    void compare_with_mpi(MPI_Comm twin, const drawn_call& call) {
        auto one = call;
        for (auto& byte : one.receives.buffer) byte = untouched;
        const int code =
            invoke(PMPI_Neighbor_alltoallw, PMPI_Neighbor_alltoallv, PMPI_Neighbor_allgatherv,
                   PMPI_Alltoallw, one, one.receives.buffer.data(), twin);
        in_.expect(code == MPI_SUCCESS && one.receives.buffer == call.expected,
                   name(call) + " by MPI: error class " + std::to_string(class_of(code)));
    }

    world& in_;
    random_numbers shared_;
    datatypes types_{};
    bool is_forced_ = std::getenv("CROSSDOCK_ROUTE") != nullptr;
    bool takes_all_ranks_ = std::getenv("CROSSDOCK_TAKE") != nullptr;
    function function_ = alltoallw;
    bool has_plan_ = false;  // surely
    std::vector<edge> edges_{};
    std::uint64_t num_calls_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [&](world& in) {
        const char* const asked = std::getenv("CROSSDOCK_SOAK_EXCHANGES");
        test(in, argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1)
            .run(asked != nullptr ? std::strtol(asked, nullptr, 10) : 500);
    });
}
