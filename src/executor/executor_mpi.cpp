#include "executor_mpi.hpp"

#include <algorithm>
#include <utility>

#include "../base/collective_mpi.hpp"
#include "../base/environment_mpi.hpp"
#include "../base/lost_ranks_mpi.hpp"
#include "../base/throw_error.hpp"
#include "../base/watchdog_mpi.hpp"
#include "crossdock/detail/base/memory_reserve.hpp"
#include "crossdock/detail/base/suspension.hpp"

namespace crossdock {

namespace {

constexpr const char* not_started = "no exchange is active";
constexpr std::size_t most_waited_for_singly = 128;
constexpr const char* already_active =
    "an exchange is active already: wait for it before the next start";

bool is_beside(const schedule_part& a, const schedule_part& b) {
    return a.peer == b.peer && a.stage == b.stage;
}

// Whether several parts come from one rank in one stage. They match in order, and MPI_Startall does
// not promise to start them in order.
bool has_several_from_one(const index_vector<receive_number, schedule_part>& receives) {
    return std::adjacent_find(receives.begin(), receives.end(), is_beside) != receives.end();
}

}  // namespace

memory_use memory_use_of(std::string_view executor) {
    if (executor == "auto") return memory_use::if_possible;
    if (executor == "persistent") return memory_use::none;
    if (executor == "shared_memory") return memory_use::required;
    throw_error(errc::invalid_argument,
                "there is no executor \"{}\"; there are auto, persistent, shared_memory", executor);
}

memory_use memory_use_of(const communicator& comm, std::string_view executor) {
    const std::string& asked = comm.resource<environment>().executor();
    return memory_use_of(executor == "auto" && !asked.empty() ? asked : executor);
}

executor::failure_mark::failure_mark(rank_t origin, count_t part_bytes) {
    auto rest = static_cast<std::uint32_t>(origin);
    for (auto& byte : bytes) {
        byte = static_cast<unsigned char>(rest & 0xff);
        rest >>= 8;
    }
    size = static_cast<int>(std::clamp<count_t>(part_bytes - 1, 0, sizeof(rank_t)));
    if (std::any_of(bytes.begin() + size, bytes.end(), [](auto byte) { return byte != 0; }))
        size = 0;
}

rank_t executor::failure_mark::read(const std::byte* at, int size, rank_t neighbor) {
    if (size == 0 || size > static_cast<int>(sizeof(rank_t))) return neighbor;
    std::uint32_t origin = 0;
    while (size-- > 0) origin = origin << 8 | std::to_integer<std::uint32_t>(at[size]);
    return static_cast<rank_t>(origin);
}

executor::executor(const executor_setup& setup)
    : comm_(setup.comm),
      first_tag_(setup.first_tag),
      item_bytes_(setup.item_bytes),
      least_item_bytes_(setup.item_bytes),
      runner_(make_runner(setup)),
      end_of_sections_(work().num_section_receives),
      end_of_receives_(work().receives.end_index()),
      must_match_in_order_(has_several_from_one(work().receives)) {
    const std::size_t num_halves = runner_->num_halves();
    const auto& sends = work().sends;
    // The ranks of the domain share memory for this exchange by now, and count on one another.
    resize_with_reserve(completed_, static_cast<std::size_t>(end_of_sections_.value()));
    num_receive_requests_ = work().receives.size() + (num_halves - 1) * completed_.size();
    with_reserve([&] {
        requests_.assign(num_receive_requests_ + num_halves * sends.size(), MPI_REQUEST_NULL);
    });
    resize_with_reserve(statuses_, requests_.size());
    with_reserve([&] { marks_ = index_vector<send_number, failure_mark>(sends.size()); });

    insist([&] { return MPI_Type_contiguous(checked_cast<int>(item_bytes_), MPI_BYTE, &item_); });
    insist([&] { return MPI_Type_commit(&item_); });
    for (std::size_t half = 0; half < num_halves; ++half) {
        for (receive_number i; i < end_of_sections_; ++i) make_receive(i, half);
        for (send_number i; i < sends.end_index(); ++i) {
            if (!sends[i].is_in_place) make_send(i, half);
        }
    }
}

executor::~executor() {
    comm_.remove_work(this);
    if (is_active_) {
        // Messages under way still write to the buffer, so its memory is not used again.
        buffer_.keep();
        static_cast<void>(unused_output_.release());
    } else {
        try {
            buffer_.give_back(runner_->read_check());
        } catch (const std::bad_alloc&) {
            // Nobody uses it again.
        }
    }
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    // Open MPI 5 ends the program if what is freed fails later, as messages to a rank that has ended do.
    if (is_finalized || (is_active_ && comm_.may_lose_ranks())) return;
    for (auto& request : requests_) {
        if (request != MPI_REQUEST_NULL) insist_quietly([&] { return MPI_Request_free(&request); });
    }
    if (item_ != MPI_DATATYPE_NULL) insist_quietly([&] { return MPI_Type_free(&item_); });
}

index_vector<buffer_number, exchange_buffer> executor::make_buffers(
    const shared_memory_schedule& work, const std::shared_ptr<node_memory>& memory) {
    static_assert(exchange_buffer::alignment == shared_window::alignment);
    buffer_ = memory_piece(memory, exchange_buffer::size_bytes(work, item_bytes_),
                           [&](std::byte* own) { exchange_buffer::make(own, work, item_bytes_); });
    return with_reserve([&] {
        index_vector<buffer_number, exchange_buffer> buffers;
        for (std::byte* const one : buffer_.all()) buffers.emplace_back(one);
        return buffers;
    });
}

std::unique_ptr<schedule_runner> executor::make_runner(const executor_setup& setup) {
    const auto buffers = make_buffers(*setup.work, setup.memory);
    return with_reserve([&] {
        return std::make_unique<schedule_runner>(setup.work, buffers, setup.item_bytes,
                                                 setup.comm.rank());
    });
}

std::size_t executor::receive_request(receive_number part, std::size_t half) const {
    if (part >= end_of_sections_) half = runner_->num_halves() - 1;
    return half * completed_.size() + static_cast<std::size_t>(part.value());
}

std::size_t executor::send_request(send_number part, std::size_t half) const {
    if (half > 0 && work().sends[part].is_in_place) half = 0;
    return num_receive_requests_ + half * work().sends.size() +
           static_cast<std::size_t>(part.value());
}

// The place of a request that is to be made; one that is there is freed.
MPI_Request& executor::free_request(std::size_t number) {
    auto& request = requests_[number];
    if (request != MPI_REQUEST_NULL) insist([&] { return MPI_Request_free(&request); });
    return request;
}

std::byte* executor::receive_address(receive_number i, std::size_t half) const {
    const auto& part = work().receives[i];
    if (!part.is_in_place) return runner_->address(part, half);
    return static_cast<std::byte*>(output_) +
           static_cast<std::size_t>(part.array_index) * item_bytes_;
}

void executor::make_receive(receive_number i, std::size_t half) {
    const auto& part = work().receives[i];
    auto& request = free_request(receive_request(i, half));
    insist([&] {
        return MPI_Recv_init(receive_address(i, half), checked_cast<int>(part.num_items), item_,
                             part.peer, tag_of(part), comm_.get(), &request);
    });
}

void executor::make_send(send_number i, std::size_t half) {
    const auto& part = work().sends[i];
    const std::byte* const at = part.is_in_place
                                    ? static_cast<const std::byte*>(input_) +
                                          static_cast<std::size_t>(part.array_index) * item_bytes_
                                    : runner_->address(part, half);
    auto& request = free_request(send_request(i, half));
    insist([&] {
        return MPI_Send_init(at, checked_cast<int>(part.num_items), item_, part.peer, tag_of(part),
                             comm_.get(), &request);
    });
}

// The requests of parts in place hold addresses in the user's arrays. They are made anew only when
// those change, and again if MPI has refused one of them.
void executor::bind_input(const void* input) {
    if (std::exchange(input_, input) == input) return;
    try {
        for (send_number i; i < work().sends.end_index(); ++i) {
            if (work().sends[i].is_in_place) make_send(i, 0);
        }
    } catch (...) {
        input_ = nullptr;
        throw;
    }
}

void executor::bind_output(void* output) {
    if (std::exchange(output_, output) == output) return;
    try {
        for (receive_number i = end_of_sections_; i < end_of_receives_; ++i) make_receive(i, 0);
    } catch (...) {
        output_ = nullptr;
        throw;
    }
}

// Until it is work, the progress thread does not see it.
void executor::start(const void* input, void* output, combine_function combine) {
    require_state(!is_active_, already_active);
    least_item_bytes_ = item_bytes_;
    bind_input(input);
    bind_output(output);
    runner_->begin(static_cast<const std::byte*>(input), static_cast<std::byte*>(output),
                   std::move(combine));
    begin();
}

// What others send in place comes to memory that nobody looks at.
void executor::start_empty(rank_t failed, bool knows_size) {
    require_state(!is_active_, already_active);
    least_item_bytes_ = knows_size ? item_bytes_ : 0;
    failed_ = failed;
    if (!knows_size) {
        is_probed_ = with_reserve(
            [&] { return index_vector<receive_number, char>(work().receives.size()); });
        num_to_probe_ = end_of_receives_.value();
        runner_->begin_empty(failed);
        return begin();
    }
    count_t num_items = 0;
    for (receive_number i = end_of_sections_; i < end_of_receives_; ++i) {
        const auto& part = work().receives[i];
        num_items = std::max(num_items, part.array_index + part.num_items);
    }
    unused_output_ = with_reserve([&] {
        return std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(num_items) *
                                                           item_bytes_);
    });
    bind_output(unused_output_.get());
    runner_->begin_empty(failed);
    begin();
}

void executor::begin() {
    is_active_ = true;
    start_receives(end_of_sections_, end_of_receives_);
    has_posted_ = runner_->may_receive();
    if (has_posted_) start_receives(receive_number(0), end_of_sections_);
    run_tasks();
    is_left_to_thread_ = comm_.has_progress_thread();
    is_registered_ = owes() || is_left_to_thread_;
    if (is_registered_) comm_.add_work(this);
}

void executor::start_receives(receive_number first, receive_number end) {
    if (first == end || num_to_probe_ > 0) return;
    const watched_part now(watch_, activity::sending);
    MPI_Request* const requests = requests_.data() + receive_request(first, runner_->half());
    if (!must_match_in_order_) {
        insist([&] { return MPI_Startall(end - first, requests); });
        return;
    }
    for (int i = 0; i < end - first; ++i) insist([&] { return MPI_Start(&requests[i]); });
}

void executor::send(send_number part) {
    const watched_part now(watch_, activity::sending);
    insist([&] { return MPI_Start(&requests_[send_request(part, runner_->half())]); });
}

// The request of the part sends the mark until the exchange is over.
void executor::send_failure(send_number i, rank_t origin) {
    const auto& part = work().sends[i];
    auto& mark = marks_[i] =
        failure_mark(origin, part.num_items * static_cast<count_t>(least_item_bytes_));
    has_marks_ = true;
    auto& request = free_request(send_request(i, runner_->half()));
    insist([&] {
        return MPI_Send_init(mark.bytes.data(), mark.size, MPI_BYTE, part.peer, tag_of(part),
                             comm_.get(), &request);
    });
    insist([&] { return MPI_Start(&request); });
}

// Takes what has come, of whatever length. Parts that are beside each other come in order.
void executor::probe() {
    for (receive_number i = has_posted_ ? receive_number(0) : end_of_sections_;
         num_to_probe_ > 0 && i < end_of_receives_; ++i) {
        const auto& part = work().receives[i];
        const bool waits =
            i > receive_number(0) && !is_probed_[i - 1] && is_beside(work().receives[i - 1], part);
        if (is_probed_[i] || waits) continue;
        int is_there = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        insist([&] {
            return MPI_Improbe(part.peer, tag_of(part), comm_.get(), &is_there, &message, &status);
        });
        if (is_there) take_probed(i, message, status);
    }
}

// A part as long as it should be is as good as any. If it is shorter than an item of its sender, it may be a mark, but
// this rank has failed as well.
void executor::take_probed(receive_number i, MPI_Message& message, const MPI_Status& status) {
    const auto& part = work().receives[i];
    int num_bytes = 0;
    insist([&] { return MPI_Get_count(&status, MPI_BYTE, &num_bytes); });
    const bool is_whole = num_bytes == part.num_items * static_cast<count_t>(item_bytes_);
    const bool is_kept = is_whole && !part.is_in_place;
    std::vector<std::byte> unused;
    if (!is_kept) resize_with_reserve(unused, static_cast<std::size_t>(num_bytes));
    std::byte* const to = is_kept ? receive_address(i, runner_->half()) : unused.data();
    insist([&] { return MPI_Mrecv(to, num_bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE); });
    is_probed_[i] = 1;
    --num_to_probe_;
    if (!part.is_in_place) runner_->note_received(i, is_whole ? schedule_runner::nobody : failed_);
}

// Whose fault it is that a part has come without its items.
rank_t executor::origin_of(receive_number i, const MPI_Status& status) const {
    const auto& part = work().receives[i];
    int num_items = 0;
    insist([&] { return MPI_Get_count(&status, item_, &num_items); });
    if (num_items == part.num_items) return schedule_runner::nobody;
    int num_bytes = 0;
    insist([&] { return MPI_Get_elements(&status, item_, &num_bytes); });
    return failure_mark::read(receive_address(i, runner_->half()), num_bytes, part.peer);
}

// Notes what has arrived since the last look, once all requests are complete. A request that was
// complete before has an empty status.
void executor::note_all() {
    const auto note_if_new = [&](receive_number i, auto&& note) {
        const auto& status = statuses_[receive_request(i, runner_->half())];
        if (status.MPI_SOURCE != MPI_ANY_SOURCE) note(origin_of(i, status));
    };
    for (receive_number i; runner_->has_messages_left() && i < end_of_sections_; ++i)
        note_if_new(i, [&](rank_t origin) { runner_->note_received(i, origin); });
    for (receive_number i = end_of_sections_; i < end_of_receives_; ++i) {
        note_if_new(i, [&](rank_t origin) {
            if (origin != schedule_runner::nobody) runner_->note_failure(origin);
        });
    }
}

// Whether all requests are complete.
bool executor::test_all() {
    int is_complete = 0;
    insist(statuses_, [&] {
        return MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_complete,
                           statuses_.data());
    });
    if (is_complete) note_all();
    return is_complete != 0;
}

// Notes what `find_some` (MPI_Testsome or MPI_Waitsome) finds to have arrived.
void executor::take_arrived(decltype(&MPI_Testsome) find_some) {
    int num_completed = 0;
    insist(statuses_, [&] {
        return find_some(end_of_sections_.value(),
                         requests_.data() + runner_->half() * completed_.size(), &num_completed,
                         completed_.data(), statuses_.data());
    });
    for (std::size_t i = 0; static_cast<int>(i) < num_completed; ++i) {
        const receive_number part(completed_[i]);
        runner_->note_received(part, origin_of(part, statuses_[i]));
    }
    if (watch_ && num_completed > 0) [[unlikely]]
        watch_->note_arrival(statuses_[0].MPI_SOURCE);
    advance();
}

const mpi_traffic& executor::sent(const topology& regions) {
    if (sent_) return *sent_;
    mpi_traffic sum;
    const auto own_region = regions.region_of(comm_.rank());
    for (const auto& part : work().sends) {
        const count_t bytes = part.num_items * static_cast<count_t>(item_bytes_);
        const bool is_inter_region = regions.region_of(part.peer) != own_region;
        sum.messages += 1;
        sum.bytes += bytes;
        sum.inter_region_messages += is_inter_region ? 1 : 0;
        sum.inter_region_bytes += is_inter_region ? bytes : 0;
    }
    return sent_.emplace(sum);
}

// A look that finds a task to run is packing, and what was waited before was waited for the rank whose items it had to
// have.
[[gnu::cold]] void executor::run_watched_tasks() {
    const buffer_number awaited = runner_->awaited();
    const int num_left = runner_->num_tasks_left();
    const auto before = watch_->change(activity::packing);
    runner_->advance(*this);
    if (runner_->num_tasks_left() == num_left) return watch_->go_back(before);
    watch_->change(before);
    if (awaited != no_buffer && awaited != work().here)
        watch_->note_arrival(buffer_.shared()->domain().rank_at(awaited));
}

void executor::advance() {
    run_tasks();
    if (is_registered_ && !is_left_to_thread_ && !owes()) end_work();
}

void executor::end_work() noexcept {
    comm_.remove_work(this);
    is_registered_ = false;
}

// Does what can be done without waiting.
void executor::poll() {
    if (!has_posted_ && runner_->may_receive()) {
        start_receives(receive_number(0), end_of_sections_);
        has_posted_ = true;
    }
    if (num_to_probe_ > 0) probe();
    if (!completed_.empty()) return take_arrived(&MPI_Testsome);
    advance();
}

void executor::progress() {
    if (is_registered_) poll();
}

// Between calls of the object: nothing of it is measured.
void executor::progress_on_thread() noexcept {
    if (thrown_on_thread_) return;
    exchange_watch* const watch = std::exchange(watch_, nullptr);
    try {
        progress();
    } catch (...) {
        thrown_on_thread_ = std::current_exception();
    }
    watch_ = watch;
}

// A call of MPI that fails may have taken what it tells of, so nobody could meet the error again.
void executor::rethrow_of_thread() {
    if (thrown_on_thread_) [[unlikely]]
        std::rethrow_exception(std::exchange(thrown_on_thread_, nullptr));
}

void executor::finish() {
    if (is_registered_) end_work();
    runner_->end();
    is_active_ = false;
    if (std::exchange(has_marks_, false)) remove_marks();
    if (runner_->thrown()) std::rethrow_exception(runner_->thrown());
    if (const rank_t failed = runner_->failed(); failed != schedule_runner::nobody) {
        // Open MPI 5.0.7 completes receives from a rank that has ended with nothing.
        if (const auto lost = lost_ranks::find(MPI_ERR_OTHER)) throw lost_ranks::fault_of(*lost);
        throw_error_of(failed, errc::peer_failed,
                       "rank {} could not start or combine, so items that rank {} needs "
                       "are missing; the error of {} has the reason",
                       failed, comm_.rank(),
                       failed == comm_.rank() ? "that call" : fmt::format("rank {}", failed));
    }
}

// Makes the requests again that marks were sent by.
void executor::remove_marks() {
    for (send_number i; i < marks_.end_index(); ++i) {
        if (std::exchange(marks_[i].size, -1) < 0) continue;
        if (work().sends[i].is_in_place) {
            input_ = nullptr;  // the next start makes them, from its own array
        } else {
            make_send(i, runner_->half());
        }
    }
}

bool executor::test() {
    const auto held = comm_.hold_work();
    require_state(is_active_, not_started);
    rethrow_of_thread();
    comm_.progress();
    if (!is_registered_) poll();
    if (num_to_probe_ > 0 || !runner_->is_done() || !test_all()) return false;
    finish();
    return true;
}

// Whether this rank waits for others of its domain and for nothing else: no message is under way
// or to come, and there is no other work to go on with.
bool executor::awaits_memory_alone() {
    if (!runner_->awaits_domain() || runner_->has_messages_left()) return false;
    if (comm_.has_work() && !comm_.has_only(this)) return false;
    return requests_.empty() || test_all();
}

void executor::wait() {
    const auto held = comm_.hold_work();
    require_state(is_active_, not_started);
    rethrow_of_thread();
    is_left_to_thread_ = false;
    if (is_registered_ && !owes()) end_work();
    while (num_to_probe_ > 0) {
        if (test()) return;
        pause_wait();
    }
    int looks = 0;  // at memory alone
    // It may block in MPI only while it owes nothing to others, and while MPI tells of all that
    // comes.
    if (comm_.may_lose_ranks() || (watch_ && watchdog::is_on)) [[unlikely]]
        return wait_by_tests();
    while (comm_.has_work() || runner_->awaits_domain()) {
        if (comm_.has_only(this) && !runner_->awaits_domain() && has_posted_) {
            take_arrived(&MPI_Waitsome);
        } else if (looks < looks_at_memory && awaits_memory_alone()) {
            if (looks++ > 0) pause_wait();
            advance();
        } else {
            looks = 0;
            if (test()) return;
            pause_wait();
            advance();
        }
    }
    if (watch_ && requests_.size() <= most_waited_for_singly) [[unlikely]] {
        wait_for_each();
    } else {
        insist(statuses_, [&] {
            return MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(),
                               statuses_.data());
        });
    }
    note_all();
    if (!runner_->is_done()) run_tasks();
    finish();
}

// No call of MPI may block, nor hide who is awaited: the watchdog looks, and ranks may be lost.
void executor::wait_by_tests() {
    const watched_wait here(watchdog::here().call, this);
    while (!test()) {
        pause_wait();
        advance();
    }
}

void executor::describe(wait_facts& facts) const {
    const auto held = comm_.hold_work();
    const auto is_open = [&](std::size_t number) {
        int is_complete = 1;
        if (requests_[number] != MPI_REQUEST_NULL)
            MPI_Request_get_status(requests_[number], &is_complete, MPI_STATUS_IGNORE);
        return is_complete == 0;
    };
    const auto add = [&](std::set<rank_t>& to, rank_t rank) {
        to.insert(world_rank(comm_.get(), rank));
    };
    for (receive_number i; i < end_of_receives_; ++i) {
        const auto& part = work().receives[i];
        if (!is_open(receive_request(i, runner_->half()))) continue;
        add(facts.awaited, part.peer);
        facts.stage = facts.stage < 0 ? part.stage : std::min(facts.stage, part.stage);
    }
    for (send_number i; i < work().sends.end_index(); ++i) {
        if (is_open(send_request(i, runner_->half()))) add(facts.open_sends, work().sends[i].peer);
    }
    for (const auto owner : runner_->all_awaited())
        add(facts.awaited, buffer_.shared()->domain().rank_at(owner));
}

// Waits for one request after the other, to see who comes when.
void executor::wait_for_each() {
    const auto num_requests = static_cast<int>(requests_.size());
    for (auto& status : statuses_)
        status.MPI_SOURCE = MPI_ANY_SOURCE;  // as if it was complete before
    for (;;) {
        int completed = MPI_UNDEFINED;
        MPI_Status status;
        insist([&] { return MPI_Waitany(num_requests, requests_.data(), &completed, &status); });
        if (completed == MPI_UNDEFINED) return;
        const auto number = static_cast<std::size_t>(completed);
        statuses_[number] = status;
        if (number < num_receive_requests_) watch_->note_arrival(status.MPI_SOURCE);
    }
}

}  // namespace crossdock
