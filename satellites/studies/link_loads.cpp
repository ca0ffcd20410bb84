#include "satellites/studies/link_loads.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "crossdock/error.hpp"

namespace crossdock::bench {

namespace {

rank_t num_routers(const network& where) {
    return std::accumulate(where.sizes.begin(), where.sizes.end(), rank_t{1}, std::multiplies());
}

class link_loads {
  public:
    explicit link_loads(const network& where) : where_(where), bytes_(where.sizes.size()) {
        for (std::size_t d = 0; d < bytes_.size(); ++d)
            bytes_[d].resize(static_cast<std::size_t>(num_routers(where) * links_of(d)));
    }

    void add(rank_t router, rank_t destination, count_t bytes) {
        rank_t stride = 1;
        for (std::size_t d = 0; d < bytes_.size(); ++d) {
            const rank_t size = where_.sizes[d];
            rank_t at = router / stride % size;
            const rank_t end = destination / stride % size;
            const rank_t up = (end - at + size) % size;
            const bool goes_up = 2 * up < size || (2 * up == size && at % 2 == 0);
            while (at != end) {
                const rank_t next = !where_.is_torus ? end : (at + (goes_up ? 1 : size - 1)) % size;
                const rank_t link = where_.is_torus ? rank_t{goes_up} : end;
                bytes_[d][static_cast<std::size_t>(router * links_of(d) + link)] += bytes;
                router += (next - at) * stride;
                at = next;
            }
            stride *= size;
        }
    }

    std::vector<count_t> most() const {
        std::vector<count_t> result;
        for (const auto& of_links : bytes_) result.push_back(std::ranges::max(of_links));
        return result;
    }

  private:
    rank_t links_of(std::size_t dimension) const {
        return where_.is_torus ? 2 : where_.sizes[dimension];
    }

    const network& where_;
    std::vector<std::vector<count_t>> bytes_;  // by dimension and link
};

}  // namespace

std::vector<std::vector<count_t>> most_link_bytes(const schedule& work, const topology& nodes,
                                                  const network& where) {
    if (num_routers(where) * where.router_nodes != nodes.num_regions())
        throw error(errc::size_mismatch, "the nodes are not as many as the routers have");
    std::map<int, link_loads> by_tag;
    const auto router_of = [&](rank_t rank) { return nodes.region_of(rank) / where.router_nodes; };
    for (rank_t rank = 0; rank < work.num_ranks(); ++rank) {
        for (const auto& what : work.operations_of(rank)) {
            if (what.kind != operation_kind::send) continue;
            auto& loads = by_tag.try_emplace(what.tag, where).first->second;
            loads.add(router_of(rank), router_of(what.peer), what.message_bytes);
        }
    }
    std::vector<std::vector<count_t>> result;
    for (const auto& [tag, loads] : by_tag) result.push_back(loads.most());
    return result;
}

}  // namespace crossdock::bench
