#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "crossdock/crossdock_device.h"
#include "crossdock/device_exchange.hpp"
#include "crossdock/extend.hpp"
#include "owned.hpp"

using namespace crossdock;
using device::driver;

struct crossdock_device {
    std::shared_ptr<driver> value;
};
struct crossdock_device_neighbor_exchange {
    device::neighbor_exchange value;
    count_t num_items, num_slots;
    std::function<crossdock_status()> report;
};
struct crossdock_device_gather_scatter {
    device::gather_scatter value;
    count_t num_ids;
    std::function<crossdock_status()> report;
};

namespace {

// Whose error handler hears of an error: a context's, or that of what was made with one.
crossdock_status report(const crossdock_context* where) noexcept {
    try {
        return reporter_of(where)();
    } catch (...) {  // there is no room for it
        return remember_error();
    }
}
template <class Object>
crossdock_status report(const Object* made) {
    return made == nullptr ? report(static_cast<const crossdock_context*>(nullptr))
                           : made->report();
}

template <class Handle, class Body>
crossdock_status guarded(const Handle* handle, Body&& body) noexcept {
    try {
        body();
        return CROSSDOCK_SUCCESS;
    } catch (...) {
        return report(handle);
    }
}
template <class Body>
crossdock_status guarded(Body&& body) noexcept {
    return guarded(static_cast<const crossdock_context*>(nullptr), body);
}

template <class Pointer>
auto& required(Pointer* pointer, const char* what) {
    if (pointer == nullptr)
        throw error(errc::invalid_argument, std::string(what) + " is a null pointer");
    return *pointer;
}

// What is under way is lost otherwise.
template <class Handle>
void delete_idle(Handle* handle) {
    if (handle != nullptr && handle->value.is_active() && may_call_mpi())
        throw error(errc::invalid_state,
                    "what is to be freed is under way: call wait first; nothing was freed");
    delete handle;
}

void give_text(char** result, const std::string& text) {
    auto& given = required(result, "result");
    given = static_cast<char*>(std::malloc(text.size() + 1));
    if (given == nullptr) throw std::bad_alloc();
    std::memcpy(given, text.c_str(), text.size() + 1);
}

std::shared_ptr<driver> driver_of(const crossdock_device* device) {
    return device == nullptr ? nullptr : device->value;
}
std::string text_or_auto(const char* text) { return text == nullptr ? "auto" : text; }

template <class T>
std::span<T> array(T* data, count_t length, const char* what) {
    if (length < 0)
        throw error(errc::invalid_argument, std::string(what) + " has length " +
                                                std::to_string(length) + "; the minimum is 0");
    if (length > 0) required(data, what);
    return {data, static_cast<std::size_t>(length)};
}

// Of the device, as long as it has to be.
template <class T>
std::span<T> values_at(std::conditional_t<std::is_const_v<T>, const void, void>* data,
                       count_t num_items, std::size_t values_per_item = 1) {
    return {static_cast<T*>(data), static_cast<std::size_t>(num_items) * values_per_item};
}

// Of values that are counted; 0 where counts are wrong, which the exchange says.
std::size_t bytes_of_all(std::span<const int64_t> counts, std::size_t value_bytes) {
    const auto most = std::numeric_limits<count_t>::max() / std::max<std::size_t>(value_bytes, 1);
    std::size_t num_values = 0;
    for (const count_t count : counts) {
        if (count < 0 || static_cast<std::size_t>(count) > most - num_values) return 0;
        num_values += static_cast<std::size_t>(count);
    }
    return num_values * value_bytes;
}

template <class Use>
void with_value(MPI_Datatype datatype, Use&& use) {
    const auto is_any = [&](auto... known) {
        return datatype != MPI_DATATYPE_NULL && ((datatype == known) || ...);
    };
    if (is_any(MPI_DOUBLE, MPI_DOUBLE_PRECISION, MPI_REAL8)) return use(double{});
    if (is_any(MPI_FLOAT, MPI_REAL, MPI_REAL4)) return use(float{});
    if (is_any(MPI_INT, MPI_INT32_T, MPI_INTEGER, MPI_INTEGER4)) return use(std::int32_t{});
    if (is_any(MPI_LONG, MPI_LONG_LONG, MPI_INT64_T, MPI_INTEGER8)) return use(std::int64_t{});
    throw error(errc::invalid_argument,
                "a device combines values of int, float, double and 64-bit integers only");
}

template <class Use>
void with_operator(MPI_Op operation, Use&& use) {
    if (operation == MPI_SUM) return use(sum{});
    if (operation == MPI_MIN) return use(minimum{});
    if (operation == MPI_MAX) return use(maximum{});
    throw error(errc::invalid_argument, "a device combines by MPI_SUM, MPI_MIN and MPI_MAX only");
}

// Starts with what the datatype and the operation stand for. Where they stand for nothing, `fail` takes part with that.
template <class Start, class Fail>
void start_typed(MPI_Datatype datatype, MPI_Op operation, Start&& start, Fail&& fail) {
    std::function<void()> chosen;
    try {
        with_value(datatype, [&](auto zero) {
            with_operator(operation,
                          [&](auto op) { chosen = [&start, zero, op] { start(zero, op); }; });
        });
    } catch (const error& why) {
        fail(why);
        throw;
    }
    chosen();
}

}  // namespace

crossdock_status crossdock_device_open(const char* name, crossdock_device** result) {
    return guarded([&] {
        required(result, "result");
        *result = new crossdock_device{device::open(text_or_auto(name))};
    });
}

crossdock_status crossdock_device_free(crossdock_device* device) {
    return guarded([&] { delete device; });
}

crossdock_status crossdock_device_description(const crossdock_device* device, char** result) {
    return guarded([&] { give_text(result, required(device, "device").value->description()); });
}

crossdock_status crossdock_device_allocate(crossdock_device* device, size_t num_bytes,
                                           void** result) {
    return guarded([&] {
        required(result, "result");
        *result = required(device, "device").value->allocate(num_bytes);
    });
}

crossdock_status crossdock_device_deallocate(crossdock_device* device, void* memory) {
    return guarded([&] {
        if (memory != nullptr) required(device, "device").value->free(memory);
    });
}

crossdock_status crossdock_device_copy_in(crossdock_device* device, void* to, const void* from,
                                          size_t num_bytes, void* stream) {
    return guarded(
        [&] { device::copy_in(*required(device, "device").value, to, from, num_bytes, stream); });
}

crossdock_status crossdock_device_copy_out(crossdock_device* device, void* to, const void* from,
                                           size_t num_bytes, void* stream) {
    return guarded(
        [&] { device::copy_out(*required(device, "device").value, to, from, num_bytes, stream); });
}

crossdock_status crossdock_device_neighbor_exchange_create(
    const crossdock_context* context, const crossdock_pattern* pattern,
    const crossdock_neighbor_options* options, const crossdock_device* device, const char* path,
    crossdock_device_neighbor_exchange** result) {
    return guarded(context, [&] {
        const auto& where = behind(context);
        auto [how, report] = on_all_or_none(where.comm(), [&] {
            required(pattern, "pattern");
            required(result, "result");
            return std::pair(behind(options), reporter_of(context));
        });
        const auto& p = behind(pattern);
        device::neighbor_exchange made(where, p, how, driver_of(device), text_or_auto(path));
        *result = with_reserve([&] {
            return new crossdock_device_neighbor_exchange{std::move(made), p.num_items, p.num_slots,
                                                          std::move(report)};
        });
    });
}

crossdock_status crossdock_device_neighbor_exchange_free(
    crossdock_device_neighbor_exchange* exchange) {
    return guarded([&] { delete_idle(exchange); });
}

crossdock_status crossdock_device_neighbor_exchange_start(
    crossdock_device_neighbor_exchange* exchange, const void* items, void* slots, size_t item_bytes,
    void* stream) {
    return guarded(exchange, [&] {
        auto& one = required(exchange, "exchange");
        one.value.start_bytes(values_at<const std::byte>(items, one.num_items, item_bytes),
                              values_at<std::byte>(slots, one.num_slots, item_bytes), item_bytes,
                              stream);
    });
}

crossdock_status crossdock_device_neighbor_exchange_start_reverse(
    crossdock_device_neighbor_exchange* exchange, const void* slots, void* items,
    MPI_Datatype datatype, MPI_Op operation, void* stream) {
    return guarded(exchange, [&] {
        auto& one = required(exchange, "exchange");
        start_typed(
            datatype, operation,
            [&](auto zero, auto op) {
                using T = decltype(zero);
                one.value.start_reverse(values_at<const T>(slots, one.num_slots),
                                        values_at<T>(items, one.num_items), op, stream);
            },
            // On the path of the others, who have an operation that devices know.
            [&](const error& why) { one.value.fail_start(true, 0, why, device::fold_call{}); });
    });
}

crossdock_status crossdock_device_neighbor_exchange_test(
    crossdock_device_neighbor_exchange* exchange, void* stream, int* is_complete) {
    return guarded(exchange, [&] {
        auto& given = required(is_complete, "is_complete");
        given = required(exchange, "exchange").value.test(stream);
    });
}

crossdock_status crossdock_device_neighbor_exchange_wait(
    crossdock_device_neighbor_exchange* exchange, void* stream) {
    return guarded(exchange, [&] { required(exchange, "exchange").value.wait(stream); });
}

crossdock_status crossdock_device_neighbor_exchange_explain(
    const crossdock_device_neighbor_exchange* exchange, char** result) {
    return guarded(exchange,
                   [&] { give_text(result, required(exchange, "exchange").value.explain()); });
}

crossdock_status crossdock_device_gather_scatter_create(const crossdock_context* context,
                                                        int64_t num_ids, const int64_t* ids,
                                                        const crossdock_gather_options* options,
                                                        const crossdock_device* device,
                                                        crossdock_device_gather_scatter** result) {
    return guarded(context, [&] {
        const auto& where = behind(context);
        std::span<const int64_t> given;
        auto [how, report] = on_all_or_none(where.comm(), [&] {
            required(result, "result");
            given = array(ids, num_ids, "ids");
            return std::pair(behind(options), reporter_of(context));
        });
        device::gather_scatter made(where, given, how, driver_of(device));
        *result = with_reserve([&] {
            return new crossdock_device_gather_scatter{std::move(made), num_ids, std::move(report)};
        });
    });
}

crossdock_status crossdock_device_gather_scatter_free(crossdock_device_gather_scatter* shared) {
    return guarded([&] { delete_idle(shared); });
}

crossdock_status crossdock_device_gather_scatter_start(crossdock_device_gather_scatter* shared,
                                                       void* values, int64_t values_per_id,
                                                       MPI_Datatype datatype, MPI_Op operation,
                                                       int transposed, void* stream) {
    return guarded(shared, [&] {
        auto& one = required(shared, "shared");
        const gather_call how{.transposed = transposed != 0, .values_per_id = values_per_id};
        const auto start = [&](auto zero, auto op) {
            using T = decltype(zero);
            one.value.start(values_at<T>(values, one.num_ids * std::max<count_t>(values_per_id, 0)),
                            op, stream, how);
        };
        start_typed(datatype, operation, start,
                    [&](const error& why) { one.value.fail_start(how.transposed, 0, why); });
    });
}

crossdock_status crossdock_device_gather_scatter_test(crossdock_device_gather_scatter* shared,
                                                      void* stream, int* is_complete) {
    return guarded(shared, [&] {
        auto& given = required(is_complete, "is_complete");
        given = required(shared, "shared").value.test(stream);
    });
}

crossdock_status crossdock_device_gather_scatter_wait(crossdock_device_gather_scatter* shared,
                                                      void* stream) {
    return guarded(shared, [&] { required(shared, "shared").value.wait(stream); });
}

crossdock_status crossdock_device_sparse_exchange(const crossdock_context* context,
                                                  int64_t num_messages, const int* destinations,
                                                  const int64_t* counts, const void* values,
                                                  size_t value_bytes, const char* algorithm,
                                                  const crossdock_device* device, void* stream,
                                                  crossdock_device_messages* result) {
    return guarded(context, [&] {
        const auto& where = behind(context);
        const auto announced = take_announced();
        on_all_or_none(where.comm(), [&] {
            if (announced) throw error(*announced);
            required(result, "result");
            array(destinations, num_messages, "destinations");
            array(counts, num_messages, "counts");
        });
        const auto to = array(destinations, num_messages, "destinations");
        const auto lengths = array(counts, num_messages, "counts");
        auto came = std::make_unique<device::received<std::byte>>(device::sparse_exchange_bytes(
            where, to, lengths,
            values_at<const std::byte>(values, 1, bytes_of_all(lengths, value_bytes)), value_bytes,
            stream, {.algorithm = text_or_auto(algorithm)}, driver_of(device)));
        *result = {static_cast<int64_t>(came->num_messages()),
                   came->sources.data(),
                   came->counts.data(),
                   came->displacements.data(),
                   came->values.data(),
                   nullptr};
        result->owner = came.release();
    });
}

crossdock_status crossdock_device_messages_free(crossdock_device_messages* messages) {
    return guarded([&] {
        auto& one = required(messages, "messages");
        delete static_cast<device::received<std::byte>*>(std::exchange(one.owner, nullptr));
    });
}
