#include "crossdock/executor/persistent_executor.hpp"

#include <algorithm>
#include <limits>
#include <thread>

namespace crossdock {

namespace {

constexpr const char* not_active = "no exchange is active";

}  // namespace

persistent_executor::persistent_executor(const communicator& comm, std::shared_ptr<const flow> work,
                                         int first_tag, std::size_t item_bytes,
                                         std::size_t max_message_bytes)
    : comm_(comm), work_(std::move(work)), first_tag_(first_tag), item_bytes_(item_bytes) {
    const auto max_items =
        std::clamp<std::size_t>(max_message_bytes / item_bytes, 1, std::numeric_limits<int>::max());
    receives_ = split(work_->incoming, static_cast<count_t>(max_items));
    sends_ = split(work_->outgoing, static_cast<count_t>(max_items));
    num_feeding_parts_ = static_cast<std::size_t>(
        std::count_if(receives_.begin(), receives_.end(),
                      [&](const part& p) { return p.message < work_->num_feeding; }));
    for (std::size_t i = 0; i < sends_.size(); ++i) {
        if (sends_[i].first_item == 0) first_send_of_.push_back(i);
    }
    first_send_of_.push_back(sends_.size());
    requests_.assign(receives_.size() + sends_.size(), MPI_REQUEST_NULL);
    completed_.resize(num_feeding_parts_);
    missing_dependencies_.resize(work_->fills.size());
    missing_parts_.resize(work_->num_feeding);
    arrived_ = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(work_->num_arrived) * item_bytes);
    departing_ = std::make_unique_for_overwrite<std::byte[]>(
        static_cast<std::size_t>(work_->num_departing) * item_bytes);

    CROSSDOCK_MPI(MPI_Type_contiguous(checked_cast<int>(item_bytes), MPI_BYTE, &item_));
    CROSSDOCK_MPI(MPI_Type_commit(&item_));
    for (std::size_t i = 0; i < receives_.size(); ++i) {
        if (!work_->incoming[receives_[i].message].is_in_place()) make_receive(i);
    }
    for (std::size_t i = 0; i < sends_.size(); ++i) {
        if (!work_->outgoing[sends_[i].message].is_in_place()) make_send(i);
    }
}

persistent_executor::~persistent_executor() {
    comm_.remove_work(this);
    if (is_active_) {
        // Messages under way still write there; better to lose the memory than to have it
        // overwritten.
        static_cast<void>(arrived_.release());
        static_cast<void>(departing_.release());
    }
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized) return;
    for (auto& request : requests_) {
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    if (item_ != MPI_DATATYPE_NULL) MPI_Type_free(&item_);
}

std::vector<persistent_executor::part> persistent_executor::split(
    const std::vector<flow_message>& messages, count_t max_items) {
    std::vector<part> parts;
    for (std::size_t m = 0; m < messages.size(); ++m) {
        for (count_t first = 0; first < messages[m].num_items; first += max_items) {
            const count_t num_items = std::min(max_items, messages[m].num_items - first);
            parts.push_back({m, first, static_cast<int>(num_items)});
        }
    }
    return parts;
}

void persistent_executor::make_receive(std::size_t i) {
    const auto& message = work_->incoming[receives_[i].message];
    std::byte* base = message.is_in_place() ? output_ : arrived_.get();
    const count_t first = message.is_in_place() ? message.in_place_index : message.first_item;
    auto& request = requests_[i];
    if (request != MPI_REQUEST_NULL) CROSSDOCK_MPI(MPI_Request_free(&request));
    CROSSDOCK_MPI(MPI_Recv_init(
        base + static_cast<std::size_t>(first + receives_[i].first_item) * item_bytes_,
        receives_[i].num_items, item_, message.peer, first_tag_ + message.stage, comm_.get(),
        &request));
}

void persistent_executor::make_send(std::size_t i) {
    const auto& message = work_->outgoing[sends_[i].message];
    const std::byte* base = message.is_in_place() ? input_ : departing_.get();
    const count_t first = message.is_in_place() ? message.in_place_index : message.first_item;
    auto& request = requests_[receives_.size() + i];
    if (request != MPI_REQUEST_NULL) CROSSDOCK_MPI(MPI_Request_free(&request));
    CROSSDOCK_MPI(
        MPI_Send_init(base + static_cast<std::size_t>(first + sends_[i].first_item) * item_bytes_,
                      sends_[i].num_items, item_, message.peer, first_tag_ + message.stage,
                      comm_.get(), &request));
}

// In-place messages are tied to the user's arrays; they are made anew only when those change.
void persistent_executor::bind(const void* input, void* output) {
    if (input != input_) {
        input_ = static_cast<const std::byte*>(input);
        for (std::size_t i = 0; i < sends_.size(); ++i) {
            if (work_->outgoing[sends_[i].message].is_in_place()) make_send(i);
        }
    }
    if (output != output_) {
        output_ = static_cast<std::byte*>(output);
        for (std::size_t i = 0; i < receives_.size(); ++i) {
            if (work_->incoming[receives_[i].message].is_in_place()) make_receive(i);
        }
    }
}

void persistent_executor::start(const void* input, void* output, combine_function combine) {
    CROSSDOCK_ASSERT(light, !is_active_, "an exchange is active already");
    bind(input, output);
    combine_ = std::move(combine);
    num_unsent_ = 0;
    for (std::size_t i = 0; i < work_->fills.size(); ++i) {
        missing_dependencies_[i] = work_->fills[i].num_dependencies;
        if (missing_dependencies_[i] > 0) ++num_unsent_;
    }
    std::fill(missing_parts_.begin(), missing_parts_.end(), 0);
    for (std::size_t i = 0; i < num_feeding_parts_; ++i) ++missing_parts_[receives_[i].message];
    if (num_unsent_ > 0) comm_.add_work(this);
    is_active_ = true;

    start_requests(0, receives_.size());
    for (std::size_t i = 0; i < work_->fills.size(); ++i) {
        if (missing_dependencies_[i] == 0) send(i);
    }
    for (const auto& task : work_->early_outputs) run(task, output_);
}

// One by one: the parts of a message must match in order, which MPI_Startall does not promise.
void persistent_executor::start_requests(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) CROSSDOCK_MPI(MPI_Start(&requests_[i]));
}

void persistent_executor::run(const flow_task& task, std::byte* to) {
    copy_items(to, input_, task.copy_input, item_bytes_);
    copy_items(to, arrived_.get(), task.copy_arrived, item_bytes_);
    if (task.combine_input.size() > 0) combine_(to, input_, task.combine_input);
    if (task.combine_arrived.size() > 0) combine_(to, arrived_.get(), task.combine_arrived);
}

void persistent_executor::send(std::size_t message) {
    run(work_->fills[message], departing_.get());
    start_requests(receives_.size() + first_send_of_[message],
                   receives_.size() + first_send_of_[message + 1]);
}

void persistent_executor::arrive(std::size_t part_index) {
    const std::size_t message = receives_[part_index].message;
    if (--missing_parts_[message] > 0) return;
    for (const int next : work_->successors[message]) {
        const auto waiting = static_cast<std::size_t>(next);
        if (--missing_dependencies_[waiting] > 0) continue;
        send(waiting);
        if (--num_unsent_ == 0) comm_.remove_work(this);
    }
}

// Forwards what `find_some` (MPI_Testsome or MPI_Waitsome) finds to have arrived.
void persistent_executor::forward(decltype(&MPI_Testsome) find_some) {
    int num_completed = 0;
    CROSSDOCK_MPI(find_some(static_cast<int>(num_feeding_parts_), requests_.data(), &num_completed,
                            completed_.data(), MPI_STATUSES_IGNORE));
    for (int i = 0; i < num_completed; ++i) {
        arrive(static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]));
    }
}

void persistent_executor::progress() {
    if (num_unsent_ > 0) forward(&MPI_Testsome);
}

void persistent_executor::finish() {
    for (const auto& task : work_->late_outputs) run(task, output_);
    is_active_ = false;
}

bool persistent_executor::test() {
    CROSSDOCK_ASSERT(light, is_active_, not_active);
    comm_.progress();
    if (num_unsent_ > 0) return false;
    int is_complete = 0;
    CROSSDOCK_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_complete,
                              MPI_STATUSES_IGNORE));
    if (is_complete) finish();
    return is_complete != 0;
}

void persistent_executor::wait() {
    CROSSDOCK_ASSERT(light, is_active_, not_active);
    // While anything is to be forwarded for another exchange, nothing may block.
    while (comm_.has_work()) {
        if (comm_.has_only(this)) {
            forward(&MPI_Waitsome);
        } else {
            if (test()) return;
            std::this_thread::yield();
        }
    }
    CROSSDOCK_MPI(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
    finish();
}

}  // namespace crossdock
