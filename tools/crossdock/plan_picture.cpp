#include "tools/crossdock/plan_picture.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace crossdock::tool {

namespace {

constexpr rank_t max_listed_ranks = 32;
constexpr rank_t max_rows = 128;

// The ranks in the order they are drawn in: by region, then by rank.
std::vector<rank_t> by_region(const topology& regions) {
    std::vector<rank_t> ranks(static_cast<std::size_t>(regions.num_ranks()));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::stable_sort(ranks.begin(), ranks.end(), [&](rank_t a, rank_t b) {
        return regions.region_of(a) < regions.region_of(b);
    });
    return ranks;
}

class picture {
  public:
    picture(const topology& regions, std::span<const plan> plans)
        : regions_(regions),
          plans_(plans),
          rank_at_(by_region(regions)),
          place_of_(rank_at_.size()),
          ranks_per_cell_(regions.num_ranks() <= max_listed_ranks
                              ? 0
                              : (regions.num_ranks() + max_rows - 1) / max_rows) {
        for (std::size_t place = 0; place < rank_at_.size(); ++place)
            place_of_[static_cast<std::size_t>(rank_at_[place])] = static_cast<rank_t>(place);
    }

    json data() const {
        json document{{"places", places()},
                      {"ranks_per_cell", ranks_per_cell_},
                      {"sent", sent()},
                      {"stages", json::array()}};
        for (std::size_t stage = 0; stage < plans_.front().stages().size(); ++stage)
            document["stages"].push_back(stage_data(stage));
        return document;
    }

  private:
    json places() const {
        json places = json::array();
        for (const rank_t rank : rank_at_)
            places.push_back({{"rank", rank}, {"region", regions_.region_of(rank)}});
        return places;
    }

    json sent() const {
        json columns;
        for (const rank_t rank : rank_at_) {
            const auto all = total_traffic(regions_, plans_[static_cast<std::size_t>(rank)]);
            columns["messages"].push_back(all.messages);
            columns["items"].push_back(all.items);
            columns["inter_region_messages"].push_back(all.inter_region_messages);
            columns["inter_region_items"].push_back(all.inter_region_items);
        }
        return columns;
    }

    json stage_data(std::size_t stage) const {
        count_t messages = 0;
        count_t items = 0;
        for (const auto& sender : plans_) {
            const auto sent = stage_traffic(regions_, sender, stage);
            messages += sent.messages;
            items += sent.items;
        }
        json data{{"messages", messages}, {"items", items}};
        if (ranks_per_cell_ == 0) {
            data["sends"] = sends(stage);
        } else {
            data["cells"] = cells(stage);
        }
        return data;
    }

    // Calls `note` with the places of both ends, and the items, of every message of a stage.
    template <class Note>
    void for_each_message(std::size_t stage, Note note) const {
        for (const rank_t source : rank_at_) {
            const auto& sender = plans_[static_cast<std::size_t>(source)];
            for (const auto& message : sender.stages()[stage].sends)
                note(place_of(source), place_of(message.destination),
                     static_cast<count_t>(message.positions.size()));
        }
    }

    json sends(std::size_t stage) const {
        json listed = json::array();
        for_each_message(stage, [&](rank_t source, rank_t destination, count_t items) {
            listed.push_back({source, destination, items});
        });
        return listed;
    }

    json cells(std::size_t stage) const {
        struct sums {
            count_t items = 0;
            count_t inter_region_items = 0;
        };
        std::map<std::pair<rank_t, rank_t>, sums> matrix;
        for_each_message(stage, [&](rank_t source, rank_t destination, count_t items) {
            auto& cell = matrix[{source / ranks_per_cell_, destination / ranks_per_cell_}];
            cell.items += items;
            if (region_at(source) != region_at(destination)) cell.inter_region_items += items;
        });
        json listed = json::array();
        for (const auto& [at, cell] : matrix)
            listed.push_back({at.first, at.second, cell.items, cell.inter_region_items});
        return listed;
    }

    rank_t place_of(rank_t rank) const { return place_of_[static_cast<std::size_t>(rank)]; }

    region_t region_at(rank_t place) const {
        return regions_.region_of(rank_at_[static_cast<std::size_t>(place)]);
    }

    const topology& regions_;
    std::span<const plan> plans_;
    std::vector<rank_t> rank_at_;
    std::vector<rank_t> place_of_;
    rank_t ranks_per_cell_;
};

}  // namespace

json plan_picture(const topology& regions, std::span<const plan> plans) {
    return picture(regions, plans).data();
}

}  // namespace crossdock::tool
