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

}  // namespace crossdock
