#include "tools/crossdock/plots.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "crossdock/error.hpp"
#include "tools/crossdock/all_ranks.hpp"
#include "tools/crossdock/project_files.hpp"

namespace crossdock::tool {

namespace {

namespace fs = std::filesystem;

// Exit codes of the scripts, as tools/plots/plotting.py has them.
constexpr int said_why = 2;
constexpr int no_matplotlib = 3;

fs::path find_script(const std::string& name) {
    const char* const folder = std::getenv("CROSSDOCK_PLOTS");
    auto script = folder ? fs::path(folder) / name : project_file("plots", "tools/plots", name);
    if (fs::exists(script)) return script;
    throw error(errc::file_error, name + " is not in " + script.parent_path().string() +
                                      "; CROSSDOCK_PLOTS may name its folder");
}

// Files rather than pipes: a script that does not read cannot block or end this process.
class temporary_file {
  public:
    temporary_file() : file_(std::tmpfile()) {
        if (!file_) fail();
    }

    void write(const std::string& text) {
        if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
            std::fflush(file_.get()) != 0)
            fail();
    }

    // The file's descriptor, at the first byte.
    int rewound() const {
        const int descriptor = fileno(file_.get());
        ::lseek(descriptor, 0, SEEK_SET);
        return descriptor;
    }

    void copy_to(output_file& output) const {
        const int descriptor = rewound();
        std::array<char, 1 << 16> buffer;
        for (;;) {
            const auto num_read = ::read(descriptor, buffer.data(), buffer.size());
            if (num_read < 0) fail();
            if (num_read == 0) return;
            output.stream().write(buffer.data(), num_read);
        }
    }

  private:
    [[noreturn]] static void fail() {
        throw error(errc::file_error,
                    std::string("cannot use a temporary file: ") + std::strerror(errno));
    }

    struct closer {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    std::unique_ptr<std::FILE, closer> file_;
};

// The process's exit status as `waitpid` has it; nothing if there is no such program.
std::optional<int> run_program(std::vector<std::string> arguments, int input, int output) {
    std::vector<char*> pointers;
    pointers.reserve(arguments.size() + 1);
    for (auto& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    pid_t child = 0;
    const int fault =
        posix_spawnp(&child, pointers.front(), &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (fault == ENOENT) return std::nullopt;
    if (fault != 0)
        throw error(errc::file_error,
                    "cannot run " + arguments.front() + ": " + std::strerror(fault));
    int status = 0;
    while (::waitpid(child, &status, 0) == -1 && errno == EINTR) continue;
    return status;
}

std::vector<std::string> interpreters() {
    if (const char* const chosen = std::getenv("CROSSDOCK_PYTHON")) return {chosen};
    return {"python3", "/usr/bin/python3"};  // the system's has what the system's packages install
}

int exit_code(const std::string& script, int status) {
    if (WIFEXITED(status)) {
        const int code = WEXITSTATUS(status);
        if (code == 0) return 0;
        if (code == said_why) return bad_input;
        throw error(errc::file_error, script + " failed with exit code " + std::to_string(code));
    }
    throw error(errc::file_error,
                script + " was ended by signal " + std::to_string(WTERMSIG(status)));
}

void finish(const temporary_file& result, output_file& output) {
    result.copy_to(output);
    output.close();
    if (output.is_replaced()) print("{}\n", output.path());
    flush_output();
}

}  // namespace

int run_plot_script(const std::string& script, const json& data, output_file& output) {
    const auto path = find_script(script);
    temporary_file input;
    input.write(data.dump(-1, ' ', false, json::error_handler_t::replace));
    const temporary_file result;
    std::string without_matplotlib;
    for (const auto& interpreter : interpreters()) {
        const auto status = run_program({interpreter, "-B", path.string(), output.path()},
                                        input.rewound(), result.rewound());
        if (!status) continue;
        if (WIFEXITED(*status) && WEXITSTATUS(*status) == no_matplotlib) {
            without_matplotlib = interpreter;
            continue;
        }
        const int code = exit_code(script, *status);
        if (code == 0) finish(result, output);
        return code;
    }
    if (without_matplotlib.empty())
        throw error(
            errc::file_error,
            interpreters().front() + " is missing; pictures need the package python3-matplotlib");
    throw error(errc::file_error, without_matplotlib +
                                      " has no matplotlib; pictures need the package "
                                      "python3-matplotlib");
}

}  // namespace crossdock::tool
