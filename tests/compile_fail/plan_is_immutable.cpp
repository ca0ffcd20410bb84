#include "crossdock/plan.hpp"

void change(crossdock::plan& p) {
    (void)p.num_items();
#if MISTAKE == 1
    p.stages().clear();
#elif MISTAKE == 2
    p.stages().front().sends.front().destination = 0;
#elif MISTAKE == 3
    p.deliveries().front().slot = 0;
#elif MISTAKE == 4
    p.data_.num_items = 0;
#endif
}
