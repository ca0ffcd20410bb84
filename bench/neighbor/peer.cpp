#include <dlfcn.h>

#include <numeric>

#include "bench/neighbor/contender.hpp"
#include "bench/peers/peer.hpp"

namespace crossdock::bench {

namespace {

// A rank's first item among those of all ranks, on every rank.
std::vector<count_t> first_items(const exchange_task& task) {
    std::vector<count_t> all(static_cast<std::size_t>(task.what.num_ranks));
    CROSSDOCK_MPI(MPI_Allgather(&task.what.num_items, 1, MPI_INT64_T, all.data(), 1, MPI_INT64_T,
                                task.where.comm().get()));
    std::exclusive_scan(all.begin(), all.end(), all.begin(), count_t{0});
    return all;
}

class peers_exchange final : public contender {
  public:
    peers_exchange(const exchange_task& task, const named_peer& by)
        : task_(task), first_items_(first_items(task)) {
        const auto& what = task.what;
        send_items_ = narrowed(what.sends.indices);
        send_starts_ = narrowed(what.sends.offsets);
        slot_starts_ = narrowed(what.receives.offsets);
        slot_items_.resize(static_cast<std::size_t>(what.num_slots));
        for (std::size_t e = 0; e < what.receives.size(); ++e) {
            const auto first = first_items_[static_cast<std::size_t>(what.receives.ranks[e])];
            for (const auto slot : what.receives[e])
                slot_items_[static_cast<std::size_t>(slot)] =
                    first + task.slot_items[static_cast<std::size_t>(slot)];
        }
        one_ = by.set_up({task.where.comm().get(), doubles<const double>(task.items),
                          doubles<double>(task.slots),
                          first_items_[static_cast<std::size_t>(what.rank)], slot_items_,
                          what.sends.ranks, send_starts_, send_items_, what.receives.ranks,
                          slot_starts_});
    }

    void start() override { one_->start(); }
    void test() override {}
    void wait() override { one_->wait(); }
    traffic sent() const override { return direct_traffic(task_.where.topology(), task_.what); }

  private:
    static std::vector<int> narrowed(std::span<const count_t> from) {
        std::vector<int> to;
        for (const auto one : from) to.push_back(checked_cast<int>(one));
        return to;
    }
    template <class T>
    static std::span<T> doubles(std::span<std::byte> from) {
        return {reinterpret_cast<T*>(from.data()), from.size() / sizeof(T)};
    }

    exchange_task task_;
    std::vector<count_t> first_items_;
    std::vector<int> send_items_, send_starts_, slot_starts_;
    std::vector<long long> slot_items_;
    std::unique_ptr<peer> one_;
};

}  // namespace

std::vector<entrant> peers_of(const std::string& file) {
    // Never closed: MPI and the program's end call what it has registered.
    void* const loaded = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto* const peers =
        loaded == nullptr
            ? nullptr
            : reinterpret_cast<decltype(&crossdock_peers)>(dlsym(loaded, "crossdock_peers"));
    if (peers == nullptr) {
        const char* const why = dlerror();
        throw error(errc::file_error, why != nullptr ? why : file + " has no peers");
    }
    std::vector<entrant> all;
    for (const auto& one : peers())
        all.push_back({one.name, "", false, "",
                       [&one](const exchange_task& task) -> std::unique_ptr<contender> {
                           return std::make_unique<peers_exchange>(task, one);
                       }});
    return all;
}

}  // namespace crossdock::bench
