#include "setup_rounds_mpi.hpp"

#include <utility>

#include "../base/collective_mpi.hpp"
#include "../base/named_values_mpi.hpp"
#include "../base/throw_error.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "exchange_state_mpi.hpp"
#include "exchange_words_mpi.hpp"

namespace crossdock {

namespace {

// The topology that the last call agreed on.
struct agreed_topology final : communicator_resource {
    explicit agreed_topology(const communicator&) {}

    std::optional<topology> regions;
};

}  // namespace

// All ranks throw in the meeting, or none.
template <class Meeting>
void setup_rounds::meet(Meeting&& meeting) {
    try {
        meeting();
    } catch (const error&) {
        if (partners_) clear_away();
        throw;
    }
}

void setup_rounds::finish() {
    meet([&] { agree(comm_, fault_); });
}

std::vector<word_message> setup_rounds::exchange(const topology& regions,
                                                 const std::vector<word_message>& to_send,
                                                 const equal_arguments& same, std::uint32_t* bits) {
    std::optional<error> late;
    std::vector<word_message> inbox;
    meet([&] { inbox = exchange_words(comm_, regions, to_send, fault_, same, &late, bits); });
    fault_ = std::move(late);
    return inbox;
}

std::vector<word_message> setup_rounds::open(const std::vector<word_message>& to_send,
                                             const equal_arguments& same, std::uint32_t* bits) {
    auto& agreed = comm_.resource<agreed_topology>().regions;
    const auto keep_regions = [&] { with_reserve([&] { agreed = regions_; }); };
    if (!agreed) {
        agree(comm_, fault_, same);
        keep_regions();
    }
    auto inbox = exchange(*agreed, to_send, same, bits);
    if (*agreed != regions_) keep_regions();
    return inbox;
}

std::vector<word_message> setup_rounds::hear_anybody(const std::vector<word_message>& to_send) {
    return exchange(regions_, to_send, {}, nullptr);
}

setup_rounds::partner_rounds::partner_rounds(const communicator& comm, const topology& regions)
    : mail(comm, regions, exchange_options{}.max_message_bytes, arrivals) {
    static_assert(max_rounds == exchange_tags::max_stages);
    const auto tags = comm.resource<exchange_state>().next_tags();
    stop_tag = tags.found();
    first_tag = tags.stage(0);
}

void setup_rounds::begin_partners() {
    if (!partners_)
        partners_ = with_reserve([&] { return std::make_unique<partner_rounds>(comm_, regions_); });
}

std::vector<word_message> setup_rounds::next(std::vector<word_message> to_send,
                                             std::size_t num_sources) {
    auto& all = *partners_;
    if (all.num_rounds == max_rounds)
        throw error(errc::invalid_state, "a set-up has no more rounds between partners");
    const int tag = all.first_tag + all.num_rounds++;
    all.to_send = std::move(to_send);
    for (const auto& message : all.to_send) all.mail.send(bytes_of(message), tag);
    const auto wait_until = [&](auto&& is_done) {
        while (!is_done()) {
            if (is_told_to_stop()) throw peer_stopped();
            all.mail.pause();
        }
    };
    wait_until([&] {
        while (all.arrivals.messages().size() < num_sources) {
            const auto message = all.mail.receive(tag);
            if (!message) return false;
            all.arrivals.add(*message);
        }
        return true;
    });
    wait_until([&] { return all.mail.are_sent(); });
    all.arrivals.sort_by_source();
    auto inbox = words_of(all.arrivals);
    all.arrivals = byte_inbox();
    return inbox;
}

bool setup_rounds::is_told_to_stop() const {
    int is_told = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, partners_->stop_tag, comm_.get(), &is_told, MPI_STATUS_IGNORE);
    return is_told != 0;
}

// A word without content to every rank, behind all other messages of this one.
void setup_rounds::tell_all() noexcept {
    partners_->has_told = true;
    for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
        if (rank == comm_.rank()) continue;
        MPI_Request request = MPI_REQUEST_NULL;
        try {
            insist([&] {
                return MPI_Isend(nullptr, 0, MPI_BYTE, rank, partners_->stop_tag, comm_.get(),
                                 &request);
            });
        } catch (...) {
            // MPI does not work any more; the others are told all the same.
        }
        if (request != MPI_REQUEST_NULL) insist_quietly([&] { return MPI_Request_free(&request); });
    }
}

void setup_rounds::stop() noexcept {
    tell_all();
    take_leave();
}

// Once all ranks have failed. No message is left, as MPI wants it of a communicator that is freed.
void setup_rounds::clear_away() noexcept {
    if (!partners_->has_told) tell_all();
    try {
        for (rank_t rank = 0; rank < comm_.num_ranks(); ++rank) {
            if (rank == comm_.rank()) continue;
            run_collective(comm_, [&](MPI_Request* request) {
                return MPI_Irecv(nullptr, 0, MPI_BYTE, rank, partners_->stop_tag, comm_.get(),
                                 request);
            });
        }
    } catch (...) {
        // MPI does not work any more.
    }
    discard_rounds();
}

// What others still send to this rank is received from now on, so that they get on. Its own messages are received
// before it comes to the meeting, or their memory would be gone too early.
void setup_rounds::take_leave() noexcept {
    partners_->has_stopped = true;
    try {
        with_reserve([&] { comm_.add_work(this); });
        partners_->mail.wait_until([&] {
            discard_rounds();
            return partners_->mail.are_sent();
        });
    } catch (...) {
        // MPI does not work any more.
    }
}

void setup_rounds::discard_rounds() noexcept {
    for (int round = 0; round < max_rounds; ++round)
        partners_->mail.discard_all(partners_->first_tag + round);
}

void check_sizes(const communicator& comm, const topology& regions, const checked_pattern& given) {
    given.require_made();
    const pattern& p = given;
    if (regions.num_ranks() != comm.num_ranks()) {
        throw_error(errc::size_mismatch,
                    "the topology \"{}\" has {} ranks, but the communicator {}; give "
                    "one of all its ranks",
                    regions.to_string(), regions.num_ranks(), comm.num_ranks());
    }
    if (p.rank != comm.rank() || p.num_ranks != comm.num_ranks()) {
        throw_error(errc::size_mismatch,
                    "the pattern is of rank {} of {}, but this is rank {} of {}; give "
                    "each rank its own pattern",
                    p.rank, p.num_ranks, comm.rank(), comm.num_ranks());
    }
    given.check();
}

}  // namespace crossdock
