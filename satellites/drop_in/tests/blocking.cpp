// Exchanges whose ranks block in something else, which rank 0 joins only after its own wait: ranks forward for it
// meanwhile, or wait for ever. Also communicators that the drop-in is to leave alone.
#include <mpi.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "world.hpp"

namespace {

// An exchange with all other ranks.
class all_to_all {
  public:
    explicit all_to_all(const world& in, std::size_t num_values = 2,
                        MPI_Comm among = MPI_COMM_WORLD)
        : in_(in), num_values_(num_values) {
        std::vector<int> others;
        for (int other = 0; other < in.num_ranks; ++other)
            if (other != in.rank) others.push_back(other);
        const int degree = in.num_ranks - 1;
        MPI_Dist_graph_create_adjacent(among, degree, others.data(), MPI_UNWEIGHTED, degree,
                                       others.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_);
        others_ = others;
        sent_.resize(num_values_ * others.size());
        received_.resize(num_values_ * others.size());
    }
    ~all_to_all() { MPI_Comm_free(&graph_); }

    // Returns when the exchange is complete.
    bool exchange() {
        prepare();
        const int count = static_cast<int>(num_values_);
        MPI_Neighbor_alltoall(sent_.data(), count, MPI_LONG, received_.data(), count, MPI_LONG,
                              graph_);
        return is_right();
    }

    void start() {
        prepare();
        const int count = static_cast<int>(num_values_);
        MPI_Ineighbor_alltoall(sent_.data(), count, MPI_LONG, received_.data(), count, MPI_LONG,
                               graph_, &request_);
    }

    bool wait() {
        MPI_Wait(&request_, MPI_STATUS_IGNORE);
        return is_right();
    }

  private:
    void prepare() {
        ++number_;
        for (std::size_t i = 0; i < sent_.size(); ++i)
            sent_[i] = value(in_.rank, others_[i / num_values_], i % num_values_);
        received_.assign(received_.size(), -1);
    }

    bool is_right() const {
        for (std::size_t i = 0; i < received_.size(); ++i)
            if (received_[i] != value(others_[i / num_values_], in_.rank, i % num_values_))
                return false;
        return true;
    }

    long value(int from, int to, std::size_t index) const {
        return 1000000000L * number_ + 10000000L * from + 100000L * to + static_cast<long>(index);
    }

    const world& in_;
    std::size_t num_values_;
    std::vector<int> others_;
    std::vector<long> sent_;
    std::vector<long> received_;
    MPI_Comm graph_ = MPI_COMM_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
    long number_ = 0;
};

struct blocking_call {
    const char* name;
    std::function<void()> call;
};

std::vector<blocking_call> blocking_calls(const world& in, const std::string& file_name) {
    const int next = (in.rank + 1) % in.num_ranks;
    const int previous = (in.rank + in.num_ranks - 1) % in.num_ranks;
    return {
        {"MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); }},
        {"MPI_Allreduce",
         [] {
             int one = 1, sum = 0;
             MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
         }},
        {"a ring of MPI_Ssend and MPI_Recv",
         [=] {
             if (in.num_ranks == 1) return;
             int token = 0;
             if (in.rank == 0) MPI_Ssend(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
             MPI_Recv(&token, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
             if (in.rank != 0) MPI_Ssend(&token, 1, MPI_INT, next, 1, MPI_COMM_WORLD);
         }},
        {"MPI_Probe",
         [=] {
             int token = 0;
             if (in.rank == 0)
                 for (int to = 1; to < in.num_ranks; ++to)
                     MPI_Send(&token, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
             if (in.rank == 0) return;
             MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
             MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
         }},
        {"MPI_Win_fence",
         [=] {
             int* memory = nullptr;
             MPI_Win window = MPI_WIN_NULL;
             MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                              &window);
             MPI_Win_fence(0, window);
             MPI_Put(&in.rank, 1, MPI_INT, next, 0, 1, MPI_INT, window);
             MPI_Win_fence(0, window);
             MPI_Win_free(&window);
         }},
        {"MPI_File_write_at_all",
         [=] {
             MPI_File file = MPI_FILE_NULL;
             MPI_File_open(MPI_COMM_WORLD, file_name.c_str(),
                           MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                           MPI_INFO_NULL, &file);
             MPI_File_write_at_all(file, in.rank * 4, &in.rank, 1, MPI_INT, MPI_STATUS_IGNORE);
             MPI_File_close(&file);
         }},
        {"MPI_Comm_split",
         [=] {
             MPI_Comm half = MPI_COMM_NULL;
             MPI_Comm_split(MPI_COMM_WORLD, in.rank % 2, 0, &half);
             MPI_Comm_free(&half);
         }},
        {"MPI_Comm_dup",
         [] {
             MPI_Comm copy = MPI_COMM_NULL;
             MPI_Comm_dup(MPI_COMM_WORLD, &copy);
             MPI_Comm_free(&copy);
         }},
        {"MPI_Intercomm_create",
         [=] {
             if (in.num_ranks > 1) const halves both(in.rank);
         }},
        {"usleep", [] { usleep(20000); }},
    };
}

void block_while_others_need_this_rank(world& in, const std::string& file_name,
                                       std::size_t num_values) {
    // More often than a plan needs to be compiled, so that it also happens while ranks block.
    for (const auto& [name, call] : blocking_calls(in, file_name)) {
        all_to_all exchange(in, num_values);
        for (int repetition = 0; repetition < 4; ++repetition) {
            exchange.start();
            if (in.rank == 0) in.expect(exchange.wait(), name);
            call();
            if (in.rank != 0) in.expect(exchange.wait(), name);
        }
    }
}

// Two communicators whose first exchanges, which compile plans and set up memory, the ranks start in different orders.
void start_in_different_orders(world& in, std::size_t num_values) {
    for (int repetition = 0; repetition < 4; ++repetition) {
        all_to_all a(in, num_values), b(in, num_values);
        for (int exchange = 0; exchange < 3; ++exchange) {
            auto& first = in.rank % 2 == 0 ? a : b;
            auto& second = in.rank % 2 == 0 ? b : a;
            first.start();
            second.start();
            in.expect(second.wait() && first.wait(), "two communicators in different orders");
        }
    }
}

// One has an exchange under way while it blocks in that of another communicator, which others enter first.
void block_with_another_under_way(world& in, std::size_t num_values) {
    for (int repetition = 0; repetition < 4; ++repetition) {
        all_to_all a(in, num_values), b(in, num_values);
        for (int exchange = 0; exchange < 20; ++exchange) {
            if (in.rank % 2 == 1) a.start();
            in.expect(b.exchange(), "a blocking exchange beside another");
            if (in.rank % 2 == 0) a.start();
            in.expect(a.wait(), "an exchange beside a blocking one");
        }
    }
}

// A message under way needs the sender's progress while it exchanges, and the receiver exchanges only with the message.
void exchange_with_a_message_under_way(world& in) {
    const int partner = in.rank ^ 1;
    if (partner >= in.num_ranks) return;
    MPI_Comm pair = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, in.rank / 2, 0, &pair);
    world both = in;
    MPI_Comm_rank(pair, &both.rank);
    both.num_ranks = 2;
    {
        all_to_all exchange(both, 2, pair);
        std::vector<char> message(1 << 20);
        for (int repetition = 0; repetition < 8; ++repetition) {
            MPI_Request request = MPI_REQUEST_NULL;
            if (both.rank == 0)
                MPI_Isend(message.data(), 1 << 20, MPI_CHAR, 1, 4, pair, &request);
            else
                MPI_Recv(message.data(), 1 << 20, MPI_CHAR, 0, 4, pair, MPI_STATUS_IGNORE);
            in.expect(exchange.exchange(), "an exchange with a message under way");
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Comm_free(&pair);
}

// A rank has nobody to wait for in the second exchange, and yet does something for others meanwhile.
void exchange_alone_while_others_free(world& in) {
    const world alone{0, 1};
    for (int repetition = 0; repetition < 100; ++repetition) {
        in.expect(all_to_all(in).exchange(), "an exchange before its communicator is freed");
        in.expect(all_to_all(alone, 2, MPI_COMM_SELF).exchange(), "an exchange with nobody");
    }
}

void duplicate_an_intercommunicator(const world& in) {
    if (in.num_ranks < 2) return;
    const halves two(in.rank);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(two.both(), &copy);
    MPI_Comm_free(&copy);
}

}  // namespace

int main(int argc, char** argv) {
    return run_on_all(argc, argv, [&](world& in) {
        // Others run the same program at the same time.
        int process = getpid();
        MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
        const auto file_name = std::string(argv[0]) + "." + std::to_string(process) + ".tmp";
        duplicate_an_intercommunicator(in);
        exchange_alone_while_others_free(in);
        if (in.num_ranks % 2 == 0) exchange_with_a_message_under_way(in);
        // The latter is more than the memory that ranks of a node share at first.
        for (const std::size_t num_values : {2, 20000}) {
            block_while_others_need_this_rank(in, file_name, num_values);
            start_in_different_orders(in, num_values);
            block_with_another_under_way(in, num_values);
        }
    });
}
