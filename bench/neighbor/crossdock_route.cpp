#include <array>

#include "bench/neighbor/contender.hpp"
#include "src/neighbor/automatic_route.hpp"

namespace crossdock::bench {

namespace {

// MPI's own sum takes no items of several doubles.
void sum_doubles(void* from, void* to, int* num_items, MPI_Datatype* type) {
    int item_bytes = 0;
    MPI_Type_size(*type, &item_bytes);
    const auto num_values = *num_items * item_bytes / static_cast<int>(sizeof(double));
    for (int v = 0; v < num_values; ++v)
        static_cast<double*>(to)[v] += static_cast<const double*>(from)[v];
}

class sum_operation {
  public:
    sum_operation() { CROSSDOCK_MPI(MPI_Op_create(&sum_doubles, 1, &operation_)); }
    ~sum_operation() { MPI_Op_free(&operation_); }
    sum_operation(const sum_operation&) = delete;
    sum_operation& operator=(const sum_operation&) = delete;

    MPI_Op get() const noexcept { return operation_; }

  private:
    MPI_Op operation_ = MPI_OP_NULL;
};

class library_neighbor final : public contender {
  public:
    library_neighbor(const exchange_task& task, const neighbor_options& how)
        : task_(task), type_(task.item_bytes), neighbor_(task.where, task.what, how) {}

    void start() override {
        if (task_.is_forward() && task_.item_bytes == sizeof(double)) {
            neighbor_.start(std::span<const double>(as<double>(task_.items)),
                            as<double>(task_.slots));
        } else if (task_.is_forward()) {
            neighbor_.start(task_.items.data(), task_.slots.data(), type_.get());
        } else {
            start_reverse();
        }
    }

    void test() override {
        if (neighbor_.is_active()) static_cast<void>(neighbor_.test());
    }

    void wait() override {
        if (neighbor_.is_active()) neighbor_.wait();
    }

    traffic sent() const override { return neighbor_.statistics(); }

    bool is_settled() const override { return !neighbor_.is_trying(); }

    std::string route() const override { return neighbor_.plan().route(); }

  private:
    template <class Item>
    static std::span<Item> as(std::span<std::byte> bytes) {
        return {reinterpret_cast<Item*>(bytes.data()), bytes.size() / sizeof(Item)};
    }

    void start_reverse() {
        switch (task_.item_bytes / sizeof(double)) {
            case 1: return start_sums<1>();
            case 4: return start_sums<4>();
            case 16: return start_sums<16>();
            default:
                neighbor_.start_reverse(task_.slots.data(), task_.items.data(), type_.get(),
                                        sum_.get());
        }
    }

    template <std::size_t NumValues>
    void start_sums() {
        using item = std::array<double, NumValues>;
        neighbor_.start_reverse(std::span<const item>(as<item>(task_.slots)), as<item>(task_.items),
                                [](item a, const item& b) {
                                    for (std::size_t v = 0; v < NumValues; ++v) a[v] += b[v];
                                    return a;
                                });
    }

    exchange_task task_;
    item_datatype type_;
    sum_operation sum_;
    neighbor_exchange neighbor_;
};

}  // namespace

entrant crossdock_route(const std::string& route, const neighbor_options& how) {
    const auto complete = [=](const exchange_task& task) {
        neighbor_options all = how;
        all.item_bytes = task.item_bytes;
        all.route = route;
        all.prepare = task.is_forward() ? preparation::forward : preparation::both;
        return all;
    };
    entrant library{route, how.executor, how.deduplicate, "",
                    [=](const exchange_task& task) -> std::unique_ptr<contender> {
                        return std::make_unique<library_neighbor>(task, complete(task));
                    }};
    if (is_automatic(route)) {
        library.choose = [=](const exchange_task& task) {
            resolve_route(task.where, task.what, complete(task));
        };
    }
    return library;
}

}  // namespace crossdock::bench
