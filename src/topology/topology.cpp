#include "crossdock/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "../base/throw_error.hpp"
#include "placement_builder.hpp"

namespace crossdock {

namespace {

// More placements than this are looked up in a table rather than scanned.
constexpr std::size_t max_scanned_placements = 16;

[[noreturn]] void fail(const std::string& message) { throw error(errc::invalid_topology, message); }

// Consecutive regions of one size, each of consecutive ranks: "4x16", or "16" for a single one.
struct block {
    region_t num_regions;
    rank_t region_size;
};

// Text -> topology.

class parser {
  public:
    parser(std::string_view text, std::optional<rank_t> expected_ranks)
        : text_(text), expected_ranks_(expected_ranks) {}

    topology parse() const {
        if (text_.empty()) reject("it is empty");
        if (text_.starts_with(cyclic_prefix)) return parse_cyclic();
        if (text_.starts_with(list_prefix)) return parse_list();
        return parse_blocks();
    }

  private:
    static constexpr std::string_view cyclic_prefix = "cyclic:";
    static constexpr std::string_view list_prefix = "list:";

    [[noreturn]] void reject(const std::string& why) const {
        fail(fmt::format("topology \"{}\": {}", text_, why));
    }

    rank_t parse_number(std::string_view digits, rank_t least) const {
        if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
            reject(fmt::format("\"{}\" is not a number", digits));
        rank_t number = 0;
        if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{})
            reject(fmt::format("{} is above {}", digits, std::numeric_limits<rank_t>::max()));
        if (number < least) reject(fmt::format("{} is below {}", number, least));
        return number;
    }

    block parse_block(std::string_view term) const {
        const auto times = term.find('x');
        if (times == std::string_view::npos) return {1, parse_number(term, 1)};
        return {parse_number(term.substr(0, times), 1), parse_number(term.substr(times + 1), 1)};
    }

    rank_t num_ranks_with(rank_t before, const block& b) const {
        constexpr rank_t limit = std::numeric_limits<rank_t>::max();
        const count_t num_ranks = before + count_t{b.num_regions} * b.region_size;
        if (num_ranks > limit) reject(fmt::format("it describes more than {} ranks", limit));
        return static_cast<rank_t>(num_ranks);
    }

    void check_num_ranks(rank_t num_ranks) const {
        if (expected_ranks_ && num_ranks != *expected_ranks_)
            fail(fmt::format("topology \"{}\" describes {} ranks, but there are {}", text_,
                             num_ranks, *expected_ranks_));
    }

    topology parse_blocks() const {
        std::vector<placement> code;
        rank_t num_ranks = 0;
        region_t num_regions = 0;
        for_each_term(text_, [&](std::string_view term) {
            const block b = parse_block(term);
            const rank_t before = std::exchange(num_ranks, num_ranks_with(num_ranks, b));
            code.push_back({before, num_ranks - before, num_regions, b.num_regions, b.region_size});
            num_regions += b.num_regions;
        });
        check_num_ranks(num_ranks);
        return topology::from_placements(code);
    }

    topology parse_cyclic() const {
        const std::string_view term = text_.substr(cyclic_prefix.size());
        if (term.find('x') == std::string_view::npos)
            reject("expected REGIONSxSIZE after \"cyclic:\"");
        const block b = parse_block(term);
        const rank_t num_ranks = num_ranks_with(0, b);
        check_num_ranks(num_ranks);
        const placement code{0, num_ranks, 0, b.num_regions, 1};
        return topology::from_placements({&code, 1});
    }

    topology parse_list() const {
        std::vector<region_t> region_of_rank;
        for_each_term(text_.substr(list_prefix.size()), [&](std::string_view term) {
            region_of_rank.push_back(parse_number(term, 0));
        });
        check_num_ranks(checked_cast<rank_t>(region_of_rank.size()));
        return topology::from_regions(region_of_rank);
    }

    template <class Visit>
    static void for_each_term(std::string_view terms, Visit visit) {
        for (;;) {
            const auto comma = terms.find(',');
            visit(terms.substr(0, comma));
            if (comma == std::string_view::npos) return;
            terms.remove_prefix(comma + 1);
        }
    }

    std::string_view text_;
    std::optional<rank_t> expected_ranks_;
};

// Topology -> text.

// Empty where the regions are not blocks of consecutive ranks in order.
std::vector<block> blocks_of(std::span<const placement> code) {
    std::vector<block> blocks;
    region_t next_region = 0;
    bool is_in_order = true;
    for (const placement& part : code) {
        for_each_run(part, [&](region_t region, rank_t count) {
            is_in_order = is_in_order && region == next_region++;
            if (blocks.empty() || blocks.back().region_size != count) blocks.push_back({0, count});
            ++blocks.back().num_regions;
        });
    }
    return is_in_order ? blocks : std::vector<block>{};
}

std::string blocks_to_string(std::span<const block> blocks) {
    std::string text;
    for (const auto& [num_regions, region_size] : blocks) {
        if (!text.empty()) text += ',';
        if (num_regions > 1) text += fmt::format("{}x", num_regions);
        text += std::to_string(region_size);
    }
    return text;
}

bool is_cyclic(std::span<const placement> code) {
    return code.size() == 1 && code[0].run_length == 1 &&
           code[0].num_ranks % code[0].num_regions == 0;
}

std::string list_to_string(std::span<const placement> code) {
    std::string text = "list";
    char separator = ':';
    for (const placement& part : code) {
        for_each_run(part, [&](region_t region, rank_t count) {
            for (rank_t i = 0; i < count; ++i) {
                text += std::exchange(separator, ',');
                text += std::to_string(region);
            }
        });
    }
    return text;
}

// Queries.

// How many of the first `num_ranks` ranks of `code` are in `region`.
rank_t count_in(const placement& code, region_t region, rank_t num_ranks) {
    const region_t offset = region - code.first_region;
    if (offset < 0 || offset >= code.num_regions) return 0;
    const count_t period = count_t{code.num_regions} * code.run_length;
    const count_t in_last_period = num_ranks % period - count_t{offset} * code.run_length;
    return static_cast<rank_t>(num_ranks / period * code.run_length +
                               std::clamp<count_t>(in_last_period, 0, code.run_length));
}

// The rank of `code` that is number `index` of those in `region`, which has more than `index`.
rank_t rank_in(const placement& code, region_t region, rank_t index) {
    const count_t period = count_t{code.num_regions} * code.run_length;
    const count_t run_start =
        index / code.run_length * period + count_t{region - code.first_region} * code.run_length;
    return static_cast<rank_t>(code.first_rank + run_start + index % code.run_length);
}

void check_rank(rank_t rank, rank_t num_ranks) {
    if (rank < 0 || rank >= num_ranks)
        throw_error(errc::rank_out_of_range, "rank {} is outside [0, {})", rank, num_ranks);
}

void check_region(region_t region, region_t num_regions) {
    if (region < 0 || region >= num_regions)
        throw_error(errc::invalid_argument, "region {} is outside [0, {})", region, num_regions);
}

void check_local_rank(rank_t local_rank, region_t region, rank_t region_size) {
    if (local_rank < 0 || local_rank >= region_size)
        throw_error(errc::rank_out_of_range, "local rank {} of region {} is outside [0, {})",
                    local_rank, region, region_size);
}

// Construction.

void check_fields(const placement& p, rank_t expected_first_rank) {
    if (p.first_rank != expected_first_rank)
        fail(fmt::format("a placement begins at rank {}, but the one before it ends at {}",
                         p.first_rank, expected_first_rank));
    if (p.num_ranks < 1 || p.num_regions < 1 || p.run_length < 1)
        fail(
            fmt::format("the placement at rank {} has {} ranks, {} regions and runs of {}; "
                        "none may be below 1",
                        p.first_rank, p.num_ranks, p.num_regions, p.run_length));
    constexpr region_t limit = std::numeric_limits<region_t>::max();
    if (p.first_region < 0 || p.first_region > limit - p.num_regions)
        fail(fmt::format("the placement at rank {} has {} regions from {} on; regions are [0, {})",
                         p.first_rank, p.num_regions, p.first_region, limit));
}

region_t count_regions(std::vector<placement> code) {
    std::ranges::sort(code, {}, &placement::first_region);
    region_t num_regions = 0;
    for (const placement& p : code) {
        if (p.first_region > num_regions) fail(fmt::format("region {} has no rank", num_regions));
        num_regions = std::max(num_regions, p.first_region + p.num_regions);
    }
    return num_regions;
}

// Ranks, regions, and sums of them.
constexpr std::size_t index(int at) { return static_cast<std::size_t>(at); }

}  // namespace

struct topology::table {
    table(std::span<const placement> code, rank_t num_ranks, region_t num_regions)
        : region_of(index(num_ranks)),
          local_rank_of(index(num_ranks)),
          member_offsets(index(num_regions) + 1) {
        for (const placement& part : code) {
            rank_t rank = part.first_rank;
            for_each_run(part, [&](region_t region, rank_t count) {
                for (const rank_t end = rank + count; rank < end; ++rank) {
                    region_of[index(rank)] = region;
                    local_rank_of[index(rank)] = member_offsets[index(region) + 1]++;
                }
            });
        }
        std::partial_sum(member_offsets.begin(), member_offsets.end(), member_offsets.begin());
        members.resize(index(num_ranks));
        for (rank_t rank = 0; rank < num_ranks; ++rank)
            members[index(first_member(region_of[index(rank)]) + local_rank_of[index(rank)])] =
                rank;
    }

    // Its place in `members`; of the region after the last one, where they end.
    rank_t first_member(region_t region) const { return member_offsets[index(region)]; }

    std::vector<region_t> region_of;
    std::vector<rank_t> local_rank_of;
    std::vector<rank_t> member_offsets;  // of every region, in `members`
    std::vector<rank_t> members;
};

topology::topology(std::vector<placement> canonical)
    : num_ranks_(canonical.back().first_rank + canonical.back().num_ranks),
      num_regions_(count_regions(canonical)),
      placements_(std::move(canonical)) {
    if (placements_.size() > max_scanned_placements)
        table_ = std::make_shared<const table>(placements_, num_ranks_, num_regions_);
}

topology topology::one_region(rank_t num_ranks) {
    if (num_ranks < 1) fail(fmt::format("a region has {} ranks; the minimum is 1", num_ranks));
    return topology({{0, num_ranks, 0, 1, num_ranks}});
}

topology topology::from_string(std::string_view text, rank_t num_ranks) {
    return parser(text, num_ranks).parse();
}

topology topology::from_string(std::string_view text) { return parser(text, std::nullopt).parse(); }

topology topology::from_regions(std::span<const region_t> region_of_rank) {
    if (region_of_rank.empty()) fail("a topology of no ranks");
    const auto negative = std::ranges::find_if(region_of_rank, [](region_t r) { return r < 0; });
    if (negative != region_of_rank.end())
        fail(fmt::format("rank {} is in region {}; the minimum is 0",
                         negative - region_of_rank.begin(), *negative));
    std::vector<region_t> numbers(region_of_rank.begin(), region_of_rank.end());
    std::ranges::sort(numbers);
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    placement_builder builder;
    for (const region_t number : region_of_rank) {
        const auto position = std::ranges::lower_bound(numbers, number);
        builder.append(static_cast<region_t>(position - numbers.begin()), 1);
    }
    return topology(std::move(builder).finish());
}

topology topology::from_placements(std::span<const placement> placements) {
    if (placements.empty()) fail("a topology of no ranks");
    placement_builder builder;
    rank_t num_ranks = 0;
    for (const placement& part : placements) {
        check_fields(part, num_ranks);
        builder.append(part);
        num_ranks += part.num_ranks;
    }
    return topology(std::move(builder).finish());
}

const placement& topology::placement_of(rank_t rank) const {
    return *std::prev(std::ranges::upper_bound(placements_, rank, {}, &placement::first_rank));
}

region_t topology::region_of(rank_t rank) const {
    check_rank(rank, num_ranks_);
    if (table_) return table_->region_of[index(rank)];
    const placement& part = placement_of(rank);
    return part.first_region + (rank - part.first_rank) / part.run_length % part.num_regions;
}

rank_t topology::local_rank(rank_t rank) const {
    const region_t region = region_of(rank);
    if (table_) return table_->local_rank_of[index(rank)];
    rank_t before = 0;
    for (const placement& part : placements_) {
        if (part.first_rank >= rank) break;
        before += count_in(part, region, std::min(part.num_ranks, rank - part.first_rank));
    }
    return before;
}

rank_t topology::region_size(region_t region) const {
    check_region(region, num_regions_);
    if (table_) return table_->first_member(region + 1) - table_->first_member(region);
    rank_t size = 0;
    for (const placement& part : placements_) size += count_in(part, region, part.num_ranks);
    return size;
}

rank_t topology::rank_at(region_t region, rank_t local_rank) const {
    check_local_rank(local_rank, region, region_size(region));
    if (table_) return table_->members[index(table_->first_member(region) + local_rank)];
    for (auto part = placements_.begin();; ++part) {
        const rank_t here = count_in(*part, region, part->num_ranks);
        if (local_rank < here) return rank_in(*part, region, local_rank);
        local_rank -= here;
    }
}

std::string topology::to_string() const {
    if (const auto blocks = blocks_of(placements_); !blocks.empty())
        return blocks_to_string(blocks);
    if (is_cyclic(placements_))
        return fmt::format("cyclic:{}x{}", num_regions_, num_ranks_ / num_regions_);
    return list_to_string(placements_);
}

}  // namespace crossdock
