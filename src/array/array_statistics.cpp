#include "crossdock/detail/array/array_statistics.hpp"

namespace crossdock {

batch_seconds& batch_seconds::operator+=(const batch_seconds& other) {
    combine_locally += other.combine_locally;
    combine_on_the_way += other.combine_on_the_way;
    write += other.write;
    read += other.read;
    split += other.split;
    communicate += other.communicate;
    return *this;
}

request_stage array_statistics::total() const {
    request_stage sum;
    for (const auto& one : stages) {
        sum.sent += one.sent;
        sum.received += one.received;
        sum.combined += one.combined;
        sum.empty_messages += one.empty_messages;
    }
    return sum;
}

}  // namespace crossdock
