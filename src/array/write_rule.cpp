#include "crossdock/detail/array/write_rule.hpp"

namespace crossdock {

const char* agreement_text(overwrite rule) noexcept {
    switch (rule) {
        case overwrite::any: return "the overwrite rule\nequal_writes = any";
        case overwrite::smallest_rank_last:
            return "the overwrite rule\nequal_writes = smallest_rank_last";
        case overwrite::minimum: return "the overwrite rule\nequal_writes = minimum";
        case overwrite::maximum: return "the overwrite rule\nequal_writes = maximum";
        case overwrite::user: break;
    }
    return "the overwrite rule\nequal_writes = user";
}

}  // namespace crossdock
