#include "schedule_wire.hpp"

#include <algorithm>
#include <limits>

namespace crossdock {

namespace {

constexpr int length_bits = 24;
constexpr count_t max_run_length = (count_t{1} << length_bits) - 1;
constexpr int buffer_bit = 33;
constexpr int input_bit = 32;
constexpr int words_per_part = 10;
constexpr std::int64_t max_int = std::numeric_limits<int>::max();
constexpr std::int64_t max_count = std::numeric_limits<count_t>::max();

[[noreturn]] void reject_words(const char* what) {
    throw error(errc::internal, std::string("another rank of the domain has sent ") + what);
}

// Takes one word after the other, and looks whether each is one that may be there.
class word_reader {
  public:
    explicit word_reader(const std::vector<std::int64_t>& words) : words_(words) {}

    bool is_at_end() const { return next_ == words_.size(); }

    std::int64_t take(std::int64_t least, std::int64_t most) {
        if (is_at_end()) reject_words("words that end too early");
        const std::int64_t word = words_[next_++];
        if (word < least || word > most) reject_words("a number that is out of its range");
        return word;
    }
    int take_int(int least) { return static_cast<int>(take(least, max_int)); }
    int take_below(int end) { return static_cast<int>(take(0, end - 1)); }

    // How many pieces follow, of so many words each or more.
    std::size_t take_number(std::size_t words_each) {
        const auto number = static_cast<std::size_t>(take(0, max_count));
        if (number > (words_.size() - next_) / words_each) reject_words("words that end too early");
        return number;
    }
    // Slots inside a range.
    slot_range take_range(const slot_range& around, count_t length, count_t first) const {
        if (first < around.first.value() || length > around.length ||
            first - around.first.value() > around.length - length) {
            reject_words("slots that are not those of announced items");
        }
        return {slot_number(first), length};
    }

  private:
    const std::vector<std::int64_t>& words_;
    std::size_t next_ = 0;
};

void append_parts(std::vector<std::int64_t>& words, const std::vector<message_part>& parts) {
    words.push_back(static_cast<std::int64_t>(parts.size()));
    for (const auto& one : parts) {
        const auto& part = one.part;
        words.insert(
            words.end(),
            {one.source, one.destination, one.first_item, part.peer, part.stage, part.num_items,
             part.slot.value(), part.section.value(), part.counter.value(), part.num_contributors});
    }
}

std::vector<message_part> take_parts(word_reader& from, buffer_number asking) {
    std::vector<message_part> parts(from.take_number(words_per_part));
    for (auto& one : parts) {
        auto& part = one.part;
        one.source = from.take_int(0);
        one.destination = from.take_int(0);
        one.first_item = from.take(0, max_count);
        part.peer = from.take_int(0);
        part.stage = from.take_int(0);
        part.num_items = from.take(1, max_count);
        part.is_stripe = true;
        part.buffer = asking;
        part.slot = slot_number(from.take(0, max_count));
        part.section = section_number(from.take_int(-1));
        part.counter = counter_number(from.take_int(-1));
        part.num_contributors = from.take_int(0);
    }
    return parts;
}

}  // namespace

void encode(std::vector<std::int64_t>& words, const reference_run& run) {
    const auto& [buffer, section, is_input, slot] = run.first;
    for (count_t done = 0; done < run.length; done += max_run_length) {
        words.push_back((std::int64_t{buffer.value()} << buffer_bit) |
                        (std::int64_t{is_input} << input_bit) | section.value());
        words.push_back(((slot.value() + done) << length_bits) |
                        std::min(max_run_length, run.length - done));
    }
}

std::vector<reference_run> decode_references(const std::vector<std::int64_t>& words,
                                             int num_buffers, count_t num_items) {
    std::vector<reference_run> runs;
    runs.reserve(words.size() / 2);
    word_reader from(words);
    while (!from.is_at_end()) {
        const std::int64_t where = from.take(0, (std::int64_t{num_buffers} << buffer_bit) - 1);
        const std::int64_t extent = from.take(0, max_count);
        const std::int64_t section = where & ((std::int64_t{1} << input_bit) - 1);
        const count_t length = extent & max_run_length;
        if (section > max_int || length == 0 || length > num_items)
            reject_words("a reference that is none");
        num_items -= length;
        runs.push_back({{buffer_number(static_cast<int>(where >> buffer_bit)),
                         section_number(static_cast<int>(section)), ((where >> input_bit) & 1) != 0,
                         slot_number(extent >> length_bits)},
                        length});
    }
    if (num_items != 0) reject_words("references to too few items");
    return runs;
}

std::vector<std::int64_t> encode(const access_request& request) {
    std::vector<std::int64_t> words{request.is_reader,
                                    static_cast<std::int64_t>(request.writes.size())};
    for (const auto& write : request.writes) {
        words.insert(words.end(), {write.counter.value(), write.sender.value(),
                                   static_cast<std::int64_t>(write.runs.size())});
        for (const auto& run : write.runs)
            words.insert(words.end(), {run.from.value(), run.to.value(), run.length});
    }
    append_parts(words, request.sends);
    append_parts(words, request.receives);
    for (const auto& range : request.copies)
        words.insert(words.end(), {range.first.value(), range.length});
    return words;
}

access_request decode_access_request(const std::vector<std::int64_t>& words, buffer_number asking,
                                     int num_buffers, const slot_range& own_items) {
    access_request request;
    word_reader from(words);
    request.is_reader = from.take(0, 1) != 0;
    request.writes.resize(from.take_number(3));
    for (auto& write : request.writes) {
        write.counter = counter_number(from.take_int(0));
        write.sender = buffer_number(static_cast<int>(from.take(-1, num_buffers - 1)));
        write.runs.resize(from.take_number(3));
        for (auto& run : write.runs) {
            const count_t first = from.take(0, max_count);
            run.to = slot_number(from.take(0, max_count));
            run.length = from.take(1, max_count);
            run.from = from.take_range(own_items, run.length, first).first;
        }
    }
    request.sends = take_parts(from, asking);
    request.receives = take_parts(from, asking);
    while (!from.is_at_end()) {
        const count_t first = from.take(0, max_count);
        request.copies.push_back(from.take_range(own_items, from.take(1, max_count), first));
    }
    return request;
}

}  // namespace crossdock
