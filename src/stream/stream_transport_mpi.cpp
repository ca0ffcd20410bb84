#include "stream_transport_mpi.hpp"

#include <algorithm>

#include "../base/collective_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

constexpr int sums_words = 3;
static_assert(sizeof(wave_sums) == sums_words * sizeof(std::int64_t));

// NOLINTNEXTLINE: the parameters are MPI's
extern "C" void crossdock_add_wave_sums(void* others, void* into, int* length, MPI_Datatype*) {
    const auto* const from = static_cast<const wave_sums*>(others);
    auto* const sums = static_cast<wave_sums*>(into);
    for (int i = 0; i < *length; ++i) {
        sums[i].sent += from[i].sent;
        sums[i].handled += from[i].handled;
        sums[i].failed = std::max(sums[i].failed, from[i].failed);
    }
}

}  // namespace

mpi_transport::mpi_transport(const communicator& comm, int first_tag, bool has_urgent)
    : comm_(comm),
      tag_(first_tag),
      urgent_tag_(first_tag + 1),
      has_urgent_(has_urgent),
      num_sent_to_(2 * static_cast<std::size_t>(comm.num_ranks())) {
    // One element, lest MPI cuts the three words apart.
    insist([this] { return MPI_Type_contiguous(sums_words, MPI_INT64_T, &sums_type_); });
    insist([this] { return MPI_Type_commit(&sums_type_); });
    insist([this] { return MPI_Op_create(&crossdock_add_wave_sums, 1, &add_sums_); });
}

mpi_transport::~mpi_transport() {
    if (!may_call_mpi()) return;
    insist_quietly([this] { return MPI_Op_free(&add_sums_); });
    insist_quietly([this] { return MPI_Type_free(&sums_type_); });
}

template <class Begin>
void mpi_transport::transfers::add(chunk_ref ref, Begin&& begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    append_with_reserve(requests, request);
    try {
        append_with_reserve(refs, ref);
    } catch (...) {
        requests.pop_back();
        throw;
    }
    try {
        insist([&] { return begin(&requests.back()); });
    } catch (...) {
        requests.pop_back();
        refs.pop_back();
        throw;
    }
}

void mpi_transport::send(chunk_ref ref, std::span<const std::byte> message, rank_t destination,
                         bool is_urgent) {
    unsigned char& num_sent =
        num_sent_to_[2 * static_cast<std::size_t>(destination) + (is_urgent ? 1 : 0)];
    const auto start = num_sent + 1U == messages_of_one_synchronous ? &MPI_Issend : &MPI_Isend;
    sends_.add(ref, [&](MPI_Request* request) {
        return start(message.data(), checked_cast<int>(message.size()), MPI_BYTE, destination,
                     is_urgent ? urgent_tag_ : tag_, comm_.get(), request);
    });
    num_sent = static_cast<unsigned char>((num_sent + 1U) % messages_of_one_synchronous);
}

void mpi_transport::receive(chunk_ref ref, std::span<std::byte> room) {
    const bool is_urgent =
        has_urgent_ && receives_.size() > 0 && 3 * urgent_receives_.size() < receives_.size() + 1;
    (is_urgent ? urgent_receives_ : receives_).add(ref, [&](MPI_Request* request) {
        return MPI_Irecv(room.data(), checked_cast<int>(room.size()), MPI_BYTE, MPI_ANY_SOURCE,
                         is_urgent ? urgent_tag_ : tag_, comm_.get(), request);
    });
}

void mpi_transport::poll(events& into) {
    take_done(sends_, into.sent);
    take_done(urgent_receives_, into.arrived);
    take_done(receives_, into.arrived);
}

void mpi_transport::take_done(transfers& pending, std::vector<chunk_ref>& into) {
    if (pending.size() == 0) return;
    resize_with_reserve(done_, pending.size());
    int num_done = 0;
    insist([&] {
        return MPI_Testsome(checked_cast<int>(pending.size()), pending.requests.data(), &num_done,
                            done_.data(), MPI_STATUSES_IGNORE);
    });
    if (num_done <= 0) return;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pending.size(); ++i) {
        if (pending.requests[i] == MPI_REQUEST_NULL) {
            append_with_reserve(into, pending.refs[i]);
        } else {
            pending.requests[kept] = pending.requests[i];
            pending.refs[kept++] = pending.refs[i];
        }
    }
    pending.requests.resize(kept);
    pending.refs.resize(kept);
}

void mpi_transport::start_wave(const wave_sums& own) {
    sums_->own = own;
    insist([&] {
        return MPI_Iallreduce(&sums_->own, &sums_->all, 1, sums_type_, add_sums_, comm_.get(),
                              &wave_);
    });
}

std::optional<wave_sums> mpi_transport::test_wave() {
    int is_complete = 0;
    insist([&] { return MPI_Test(&wave_, &is_complete, MPI_STATUS_IGNORE); });
    if (!is_complete) return std::nullopt;
    return sums_->all;
}

void mpi_transport::close() {
    for (transfers* const pending : {&urgent_receives_, &receives_}) {
        for (MPI_Request& request : pending->requests) {
            if (request == MPI_REQUEST_NULL) continue;
            insist([&] { return MPI_Cancel(&request); });
            insist([&] { return MPI_Wait(&request, MPI_STATUS_IGNORE); });
        }
        *pending = {};
    }
    finish_sends();
}

// A stream that a handler has ended leaves messages that nobody takes any more.
void mpi_transport::finish_sends() {
    MPI_Request barrier = MPI_REQUEST_NULL;
    int are_sent = 0;
    int is_complete = 0;
    while (!is_complete) {
        discard_arrival();
        if (are_sent) {
            insist([&] { return MPI_Test(&barrier, &is_complete, MPI_STATUS_IGNORE); });
        } else {
            insist([&] {
                return MPI_Testall(checked_cast<int>(sends_.size()), sends_.requests.data(),
                                   &are_sent, MPI_STATUSES_IGNORE);
            });
            if (are_sent) insist([&] { return MPI_Ibarrier(comm_.get(), &barrier); });
        }
        if (!is_complete) pause_wait();
    }
    sends_ = {};
}

void mpi_transport::discard_arrival() const {
    for (const int tag : {tag_, urgent_tag_}) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        int is_there = 0;
        insist([&] {
            return MPI_Improbe(MPI_ANY_SOURCE, tag, comm_.get(), &is_there, &message, &status);
        });
        if (!is_there) continue;
        int num_bytes = 0;
        insist([&] { return MPI_Get_count(&status, MPI_BYTE, &num_bytes); });
        discard_message(comm_, message, num_bytes);
    }
}

bool mpi_transport::abandon() noexcept {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized) return false;
    int is_wave_complete = 0;
    MPI_Test(&wave_, &is_wave_complete, MPI_STATUS_IGNORE);
    if (!is_wave_complete) sums_.release();  // now MPI's, for as long as it is initialised
    bool is_in_use = false;
    for (transfers* const pending : {&sends_, &urgent_receives_, &receives_}) {
        for (MPI_Request& request : pending->requests) {
            if (request == MPI_REQUEST_NULL) continue;  // it has failed
            int is_complete = 0;
            if (pending != &sends_) MPI_Cancel(&request);
            MPI_Test(&request, &is_complete, MPI_STATUS_IGNORE);
            if (is_complete) continue;
            is_in_use = true;
            if (!comm_.may_lose_ranks()) MPI_Request_free(&request);  // as an executor's
        }
        pending->requests.clear();
        pending->refs.clear();
    }
    return is_in_use;
}

}  // namespace crossdock
