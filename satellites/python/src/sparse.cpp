#include "crossdock/sparse_exchange.hpp"

#include <nanobind/stl/tuple.h>

#include <array>
#include <deque>
#include <limits>
#include <tuple>

#include "support.hpp"

namespace crossdock::python {

namespace {

// What a rank sends; a description is "" where it sends nothing.
struct outgoing_arrays {
    std::deque<item_array> arrays;
    std::string description;
    bytes_to_send to_send;
    exchange_options options;
};

void add_message(outgoing_arrays& to, rank_t destination, nb::handle array) {
    auto& items = to.arrays.emplace_back();
    items.hold(array, "a message", false);
    if (to.arrays.size() > 1) items.require_same_items(to.arrays.front());
    const auto bytes = items.bytes();
    to.to_send.messages.push_back({destination, static_cast<count_t>(bytes.size()), bytes.data()});
}

// Messages are a dict of arrays by destination, or a tuple of destinations, counts and all values.
outgoing_arrays collect(nb::handle messages, nb::handle algorithm, nb::handle order,
                        nb::handle name, nb::handle describe) {
    outgoing_arrays result;
    read(result.options.name, name, "name");
    read(result.options.algorithm, algorithm, "algorithm");
    result.options.order = choice_of<message_order>(
        order, "order",
        {{"by_source", message_order::by_source}, {"arrival", message_order::arrival}});
    nb::object first;
    if (nb::isinstance<nb::dict>(messages)) {
        for (const auto& [destination, array] : nb::borrow<nb::dict>(messages)) {
            if (!first.is_valid()) first = nb::borrow(array);
            add_message(result, argument<rank_t>(destination, "a destination", "a rank"), array);
        }
    } else if (nb::isinstance<nb::tuple>(messages) && nb::len(messages) == 3) {
        const auto destinations = integers<rank_t>(messages[0], "destinations");
        const auto counts = integers<count_t>(messages[1], "counts");
        first = messages[2];
        auto& values = result.arrays.emplace_back();
        values.hold(first, "values", false);
        result.to_send = exchange_detail::variable_bytes_to_send(
            destinations, counts, {}, std::as_bytes(values.bytes()), values.item_bytes());
    } else {
        raise_type_error(
            "messages must be a dict of arrays by destination, or a tuple of destinations, counts "
            "and values, not " +
            name_of_type(messages));
    }
    if (first.is_valid()) result.description = nb::cast<std::string>(describe(as_array(first, "")));
    return result;
}

struct item_description {
    std::string text;
    count_t num_bytes = 0;
};

// The items of all ranks are alike; who sends none hears what the others' are.
item_description agree_on_items(const communicator& comm, const item_description& mine) {
    constexpr auto nothing = std::numeric_limits<std::int64_t>::max();
    const std::int64_t hash = agreement_hash(mine.text);
    std::array<std::int64_t, 3> agreed{nothing, nothing, nothing};
    if (!mine.text.empty()) agreed = {comm.rank(), hash, -hash};
    const auto wait_for = [&](MPI_Request request) { comm.wait(request); };
    MPI_Request request = MPI_REQUEST_NULL;
    CROSSDOCK_MPI(
        MPI_Iallreduce(MPI_IN_PLACE, agreed.data(), 3, MPI_INT64_T, MPI_MIN, comm.get(), &request));
    wait_for(request);
    if (agreed[0] == nothing) return {"", sizeof(double)};
    const auto leader = static_cast<rank_t>(agreed[0]);
    std::array<count_t, 2> sizes{static_cast<count_t>(mine.text.size()), mine.num_bytes};
    CROSSDOCK_MPI(MPI_Ibcast(sizes.data(), 2, MPI_INT64_T, leader, comm.get(), &request));
    wait_for(request);
    item_description result{mine.text, sizes[1]};
    result.text.resize(static_cast<std::size_t>(sizes[0]));
    CROSSDOCK_MPI(MPI_Ibcast(result.text.data(), static_cast<int>(sizes[0]), MPI_CHAR, leader,
                             comm.get(), &request));
    wait_for(request);
    if (agreed[1] == -agreed[2]) return result;
    std::optional<error> fault;
    if (!mine.text.empty() && mine.text != result.text)
        fault.emplace(errc::invalid_argument,
                      "rank " + std::to_string(comm.rank()) + " sends items of " + mine.text +
                          ", rank " + std::to_string(leader) + " of " + result.text +
                          "; give all ranks one dtype and shape",
                      comm.rank());
    agree(comm, fault);
    return result;
}

// `describe(array)` is the text of an array's items, and `make(text, count)` a new array of them.
std::tuple<nb::object, nb::object, nb::object> exchange(const shared_context& state,
                                                        nb::handle messages, nb::handle algorithm,
                                                        nb::handle order, nb::handle name,
                                                        nb::handle describe, nb::handle make) {
    std::string same;
    const auto read_all = [&] {
        auto result = collect(messages, algorithm, order, name, describe);
        same = "a sparse exchange\nalgorithm = " + result.options.algorithm;
        return result;
    };
    auto [items, inbox] = agree_and_use(
        *state, read_all,
        [](const context& where, outgoing_arrays& sent) {
            const count_t item_bytes =
                sent.arrays.empty() ? 0 : static_cast<count_t>(sent.arrays.front().item_bytes());
            auto agreed_items = agree_on_items(where, {sent.description, item_bytes});
            sent.to_send.shape.item_bytes = agreed_items.num_bytes;
            auto received = exchange_bytes(where, sent.to_send, sent.options);
            return std::pair(std::move(agreed_items), std::move(received));
        },
        same);
    const auto came =
        exchange_detail::arrangement(inbox, static_cast<std::size_t>(items.num_bytes));
    nb::object values = make(items.text, inbox.num_bytes() / items.num_bytes);
    item_array room;
    room.hold(values, "values", true);
    without_gil([&] { inbox.copy_to(room.bytes().data()); });
    return {array_of<rank_t>(came.sources), array_of<count_t>(came.counts), std::move(values)};
}

}  // namespace

void bind_sparse(nb::module_& module) { define(module, "sparse_exchange", &exchange); }

}  // namespace crossdock::python
