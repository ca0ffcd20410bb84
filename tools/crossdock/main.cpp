#include "tools/crossdock/verbs.hpp"

namespace tool = crossdock::tool;

int main(int argc, char** argv) {
    return tool::run_program(argc, argv,
                             {&tool::add_info, &tool::add_demo, &tool::add_explain, &tool::add_try,
                              &tool::add_run, &tool::add_trace});
}
