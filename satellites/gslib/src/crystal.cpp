// gslib's crystal router: a sparse exchange on the route hypercube.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "crossdock/extend.hpp"
#include "crossdock/gslib/gslib.h"
#include "crossdock/sparse_exchange.hpp"
#include "succeeds.hpp"

using crossdock::byte_inbox;
using crossdock::bytes_to_send;
using crossdock::count_t;
using crossdock::errc;
using crossdock::error;
using crossdock::gslib::required;
using crossdock::gslib::succeeds;

namespace {

using shared = std::shared_ptr<crossdock::shared_context>;

// What one rank sends, put together for each rank in their order.
class records_to_send {
  public:
    // The parts of the record that follow, in bytes.
    void begin_record(uint target, std::size_t bytes) {
        records_.push_back({target, bytes_.size(), bytes});
    }
    void add_part(const void* data, std::size_t bytes) {
        const auto* const first = static_cast<const std::byte*>(data);
        if (bytes > 0) bytes_.insert(bytes_.end(), first, first + bytes);
    }

    // One message for each rank that gets something.
    bytes_to_send messages(std::size_t item_bytes) {
        std::ranges::stable_sort(records_, {}, &record::target);
        sorted_.resize(bytes_.size());
        bytes_to_send result;
        result.shape.item_bytes = static_cast<count_t>(item_bytes);
        std::size_t end = 0;
        for (const auto& [target, place, bytes] : records_) {
            const auto peer = static_cast<crossdock::rank_t>(target);
            if (result.messages.empty() || result.messages.back().peer != peer)
                result.messages.push_back({peer, 0, sorted_.data() + end});
            std::memcpy(sorted_.data() + end, bytes_.data() + place, bytes);
            result.messages.back().bytes += static_cast<count_t>(bytes);
            end += bytes;
        }
        return result;
    }

  private:
    struct record {
        uint target;
        std::size_t place, bytes;
    };

    std::vector<record> records_;
    std::vector<std::byte> bytes_, sorted_;
};

// Exchanges what `fill` adds, or throws on all ranks.
template <class Fill>
byte_inbox exchange(const crystal& cr, std::size_t item_bytes, Fill&& fill) {
    const auto& where =
        required(static_cast<const shared*>(cr.communicator), "the communicator of crystal_init")
            ->where;
    records_to_send to_send;
    bytes_to_send messages;
    try {
        fill(to_send);
        messages = to_send.messages(item_bytes);
    } catch (...) {
        messages.shape.item_bytes = static_cast<count_t>(item_bytes);
        messages.fault = crossdock::current_error();
    }
    return crossdock::exchange_bytes(where, messages, {.algorithm = "routed:hypercube"});
}

// Records whose parts lie in several arrays.
struct record_arrays {
    std::span<array* const> arrays;
    std::span<const unsigned> sizes;

    std::size_t record_bytes() const {
        return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    }
    std::byte* place(std::size_t part, std::size_t record) const {
        return static_cast<std::byte*>(arrays[part]->ptr) + record * sizes[part];
    }
    void send(records_to_send& to, const uint* proc, std::size_t stride) const {
        if (record_bytes() == 0) throw error(errc::invalid_argument, "the records have no bytes");
        const auto num_records = arrays[0]->n;
        if (num_records > 0) required(proc, "proc");
        for (std::size_t i = 0; i < num_records; ++i) {
            uint target = 0;
            std::memcpy(&target, reinterpret_cast<const std::byte*>(proc) + i * stride,
                        sizeof target);
            to.begin_record(target, record_bytes());
            for (std::size_t k = 0; k < arrays.size(); ++k) to.add_part(place(k, i), sizes[k]);
        }
    }
    void take(std::size_t record, const std::byte* from) const {
        for (std::size_t k = 0; k < arrays.size(); ++k) {
            if (sizes[k] > 0) std::memcpy(place(k, record), from, sizes[k]);
            from += sizes[k];
        }
    }
    // How many records fit; arrays grow unless they are fixed.
    std::size_t room_for(std::size_t num_records, bool is_fixed) const {
        for (std::size_t k = 0; k < arrays.size(); ++k) {
            if (is_fixed)
                num_records = std::min(num_records, arrays[k]->max);
            else if (!crossdock_array_reserve(arrays[k], num_records, sizes[k]) && sizes[k] > 0 &&
                     num_records > 0)
                throw std::bad_alloc();
        }
        for (auto* const one : arrays) one->n = num_records;
        return num_records;
    }
};

}  // namespace

void crystal_init(crystal* cr, const comm* comm) {
    succeeds([&] {
        auto& made = required(cr, "cr");
        made.communicator = nullptr;
        const shared found = crossdock::context_of(required(comm, "comm").c);
        auto where = crossdock::with_reserve([&] { return std::make_unique<shared>(found); });
        comm_dup(&made.comm, comm);
        buffer_init(&made.data, 0);
        buffer_init(&made.work, 0);
        made.communicator = where.release();
    });
}

void crystal_free(crystal* cr) {
    if (cr == nullptr || cr->communicator == nullptr) return;
    comm_free(&cr->comm);
    buffer_free(&cr->data);
    buffer_free(&cr->work);
    delete static_cast<shared*>(std::exchange(cr->communicator, nullptr));
}

void crystal_router(crystal* cr) {
    succeeds([&] {
        auto& data = required(cr, "cr").data;
        const auto came = exchange(*cr, sizeof(uint), [&](records_to_send& to_send) {
            constexpr std::size_t header = 3;
            const auto* const words = static_cast<const uint*>(data.ptr);
            for (std::size_t i = 0; i < data.n;) {
                if (data.n - i < header || data.n - i - header < words[i + 2])
                    throw error(errc::size_mismatch,
                                "a message is longer than the rest of data; data.n counts values "
                                "of type uint");
                const auto length = header + words[i + 2];
                to_send.begin_record(words[i], length * sizeof(uint));
                to_send.add_part(words + i, length * sizeof(uint));
                i += length;
            }
        });
        const auto num_bytes = static_cast<std::size_t>(came.num_bytes());
        if (buffer_reserve(&data, num_bytes) == nullptr && num_bytes > 0) throw std::bad_alloc();
        came.copy_to(static_cast<std::byte*>(data.ptr));
        data.n = num_bytes / sizeof(uint);
    });
}

uint sarray_transfer_many(array* const* A, const unsigned* size, unsigned num, int fixed, int ext,
                          int set_src, unsigned p_off, const uint* proc, unsigned proc_stride,
                          crystal* cr) {
    std::size_t num_came = 0;
    succeeds([&] {
        const record_arrays records{{A, num}, {size, num}};
        const auto record_bytes = records.record_bytes();
        const auto came = exchange(required(cr, "cr"), record_bytes, [&](records_to_send& to_send) {
            records.send(to_send, proc, proc_stride);
        });
        const auto total = static_cast<std::size_t>(came.num_bytes()) / record_bytes;
        const auto room = records.room_for(total, fixed != 0);
        std::size_t next = 0;
        for (const auto& [source, bytes, data] : came.messages())
            for (count_t at = 0; at < bytes && next < room;
                 at += static_cast<count_t>(record_bytes)) {
                records.take(next, data + at);
                if (ext == 0 && set_src != 0)
                    std::memcpy(records.place(0, next) + p_off, &source, sizeof source);
                ++next;
            }
        num_came = total;
    });
    return static_cast<uint>(num_came);
}

void sarray_transfer_(array* A, unsigned size, unsigned p_off, int set_src, crystal* cr) {
    const auto* const first = static_cast<const std::byte*>(A->ptr);
    const auto* const proc = first ? reinterpret_cast<const uint*>(first + p_off) : nullptr;
    sarray_transfer_many(&A, &size, 1, 0, 0, set_src, p_off, proc, size, cr);
}

void sarray_transfer_ext_(array* A, unsigned size, const uint* proc, unsigned proc_stride,
                          crystal* cr) {
    sarray_transfer_many(&A, &size, 1, 0, 1, 0, 0, proc, proc_stride, cr);
}
