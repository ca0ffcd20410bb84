// The halos of a BoomerAMG hierarchy of a plane that is cut into blocks, in the form that amg:FOLDER reads.
//
// hypre sets it up in one process, which takes 0.3 GB for a million rows; the blocks get their rows
// afterwards. Only the random numbers of PMIS depend on the processes.
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_ls.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <zlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct extent {
    int x = 1;
    int y = 1;
};

struct options {
    extent points;
    extent blocks;
    std::string output;
};

// A point's rows on the finest level follow block by block, as if every block were a process.
class grid {
  public:
    explicit grid(const options& chosen)
        : points_(chosen.points),
          blocks_(chosen.blocks),
          inside_{points_.x / blocks_.x, points_.y / blocks_.y} {}

    int num_rows() const { return points_.x * points_.y; }
    int num_blocks() const { return blocks_.x * blocks_.y; }
    int rows_of_block() const { return inside_.x * inside_.y; }

    extent point(int row) const {
        const int block = row / rows_of_block();
        const int place = row % rows_of_block();
        return {block % blocks_.x * inside_.x + place % inside_.x,
                block / blocks_.x * inside_.y + place / inside_.x};
    }

    // -1 where there is none.
    int row(extent at) const {
        if (at.x < 0 || at.x >= points_.x || at.y < 0 || at.y >= points_.y) return -1;
        const int block = at.y / inside_.y * blocks_.x + at.x / inside_.x;
        return block * rows_of_block() + at.y % inside_.y * inside_.x + at.x % inside_.x;
    }

  private:
    extent points_;
    extent blocks_;
    extent inside_;  // of a block
};

struct coefficient {
    extent step;
    double value;
};

// Rotated anisotropic diffusion as hypre has it, the diagonal first.
std::vector<coefficient> stencil() {
    constexpr int width = 5;
    constexpr int middle = width * width / 2;
    auto* const sample = GenerateRotate7pt(MPI_COMM_SELF, width, width, 1, 1, 0, 0, 45, 0.001);
    const auto* const rows = hypre_ParCSRMatrixDiag(sample);
    std::vector<coefficient> result;
    for (int k = hypre_CSRMatrixI(rows)[middle]; k < hypre_CSRMatrixI(rows)[middle + 1]; ++k) {
        const int column = hypre_CSRMatrixJ(rows)[k];
        result.push_back({{column % width - width / 2, column / width - width / 2},
                          hypre_CSRMatrixData(rows)[k]});
    }
    HYPRE_ParCSRMatrixDestroy(sample);
    return result;
}

hypre_ParCSRMatrix* matrix_of(const grid& plane) {
    const auto around = stencil();
    const int num_rows = plane.num_rows();
    const auto neighbor = [&](int row, const coefficient& one) {
        const auto [x, y] = plane.point(row);
        return plane.row({x + one.step.x, y + one.step.y});
    };
    int num_entries = 0;
    for (int row = 0; row < num_rows; ++row) {
        for (const auto& one : around) num_entries += neighbor(row, one) >= 0 ? 1 : 0;
    }
    auto* const matrix = hypre_ParCSRMatrixCreate(MPI_COMM_SELF, num_rows, num_rows, nullptr,
                                                  nullptr, 0, num_entries, 0);
    hypre_ParCSRMatrixInitialize(matrix);
    auto* const rows = hypre_ParCSRMatrixDiag(matrix);
    int entry = 0;
    for (int row = 0; row < num_rows; ++row) {
        hypre_CSRMatrixI(rows)[row] = entry;
        for (const auto& one : around) {
            const int column = neighbor(row, one);
            if (column < 0) continue;
            hypre_CSRMatrixJ(rows)[entry] = column;
            hypre_CSRMatrixData(rows)[entry++] = one.value;
        }
    }
    hypre_CSRMatrixI(rows)[num_rows] = entry;
    hypre_ParCSRMatrixSetNumNonzeros(matrix);
    return matrix;
}

// The settings of boomer_amg.hpp.
HYPRE_Solver set_up(hypre_ParCSRMatrix* finest) {
    HYPRE_Solver solver = nullptr;
    HYPRE_BoomerAMGCreate(&solver);
    const HYPRE_Int pmis = 8;
    const HYPRE_Int extended_and_i = 6;
    HYPRE_BoomerAMGSetCoarsenType(solver, pmis);
    HYPRE_BoomerAMGSetInterpType(solver, extended_and_i);
    std::vector<hypre_ParVector*> vectors;
    for (int k = 0; k < 2; ++k) {
        vectors.push_back(
            hypre_ParVectorCreate(MPI_COMM_SELF, hypre_ParCSRMatrixGlobalNumRows(finest), nullptr));
        hypre_ParVectorInitialize(vectors.back());
    }
    HYPRE_BoomerAMGSetup(solver, finest, vectors[0], vectors[1]);
    for (auto* one : vectors) hypre_ParVectorDestroy(one);
    return solver;
}

// The rows that every block starts with on a level. Rows keep their order from level to level.
using block_starts = std::vector<int>;

block_starts coarse_starts(const block_starts& fine, const hypre_IntArray& is_coarse) {
    block_starts result{0};
    for (std::size_t block = 0; block + 1 < fine.size(); ++block) {
        const auto* const marks = hypre_IntArrayData(&is_coarse);
        const auto kept = std::count_if(marks + fine[block], marks + fine[block + 1],
                                        [](HYPRE_Int mark) { return mark > 0; });
        result.push_back(result.back() + static_cast<int>(kept));
    }
    return result;
}

class writer {
  public:
    explicit writer(const std::string& path) : file_(gzopen(path.c_str(), "wb")) {
        if (file_ == nullptr) throw std::runtime_error(path + " cannot be written");
    }
    ~writer() {
        if (file_ != nullptr) gzclose(file_);
    }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    void write(int level, const block_starts& starts, const hypre_CSRMatrix& rows) {
        put(fmt::format("level {} rows {} ranks {} starts {}\n", level, starts.back(),
                        starts.size() - 1, fmt::join(starts, " ")));
        for (std::size_t block = 0; block + 1 < starts.size(); ++block)
            write_messages(block, starts, rows);
        fmt::print("level {}: {} rows\n", level, starts.back());
    }

    void close() {
        if (gzclose(std::exchange(file_, nullptr)) != Z_OK) fail();
    }

  private:
    [[noreturn]] static void fail() { throw std::runtime_error("the hierarchy cannot be written"); }

    void put(const std::string& text) {
        if (gzwrite(file_, text.data(), static_cast<unsigned>(text.size())) == 0) fail();
    }

    void write_messages(std::size_t block, const block_starts& starts,
                        const hypre_CSRMatrix& rows) {
        std::vector<int> needed;
        for (int k = hypre_CSRMatrixI(&rows)[starts[block]];
             k < hypre_CSRMatrixI(&rows)[starts[block + 1]]; ++k) {
            const int column = hypre_CSRMatrixJ(&rows)[k];
            if (column < starts[block] || column >= starts[block + 1]) needed.push_back(column);
        }
        std::ranges::sort(needed);
        needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
        for (auto first = needed.begin(); first != needed.end();) {
            const auto next_block = std::upper_bound(starts.begin(), starts.end(), *first);
            const auto end = std::lower_bound(first, needed.end(), *next_block);
            put(fmt::format("{} {} {}", block, next_block - starts.begin() - 1, end - first));
            for (; first != end; ++first) put(fmt::format(" {}", *first - *(next_block - 1)));
            put("\n");
        }
    }

    gzFile file_;
};

void run(const options& chosen) {
    const grid plane(chosen);
    auto* const finest = matrix_of(plane);
    HYPRE_Solver solver = set_up(finest);
    if (HYPRE_GetError() != 0) throw std::runtime_error("hypre failed");
    auto* const data = reinterpret_cast<hypre_ParAMGData*>(solver);
    block_starts starts;
    for (int block = 0; block <= plane.num_blocks(); ++block)
        starts.push_back(block * plane.rows_of_block());
    writer file(chosen.output);
    for (int level = 0; level < hypre_ParAMGDataNumLevels(data); ++level) {
        if (level > 0)
            starts = coarse_starts(starts, *hypre_ParAMGDataCFMarkerArray(data)[level - 1]);
        file.write(level, starts, *hypre_ParCSRMatrixDiag(hypre_ParAMGDataAArray(data)[level]));
    }
    file.close();
    HYPRE_BoomerAMGDestroy(solver);
    HYPRE_ParCSRMatrixDestroy(finest);
}

// hypre counts entries in an int, up to 7 of a row.
void require_countable(const extent& points) {
    constexpr std::int64_t most = std::numeric_limits<int>::max() / 7;
    if (std::int64_t{points.x} * points.y > most)
        throw std::runtime_error(fmt::format("more than {} points", most));
}

extent parse_extent(const std::string& text) {
    extent result;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%dx%d%c", &result.x, &result.y, &rest) != 2 || result.x < 1 ||
        result.y < 1)
        throw std::runtime_error("\"" + text + "\" is no extent, such as 16x8");
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app(
        "Sets up BoomerAMG on rotated anisotropic diffusion, and writes what the blocks of the "
        "plane exchange on every level");
    std::string points;
    std::string blocks;
    options chosen;
    app.add_option("POINTS", points, "Of the plane, as 2048x1024")->required();
    app.add_option("BLOCKS", blocks, "That the plane is cut into, one for each rank")->required();
    app.add_option("-o", chosen.output, "A file that ends in .txt.gz")->required();
    CLI11_PARSE(app, argc, argv);
    MPI_Init(&argc, &argv);
    HYPRE_Init();
    int code = 0;
    try {
        chosen.points = parse_extent(points);
        require_countable(chosen.points);
        chosen.blocks = parse_extent(blocks);
        if (chosen.points.x % chosen.blocks.x != 0 || chosen.points.y % chosen.blocks.y != 0)
            throw std::runtime_error("the blocks do not divide the points");
        run(chosen);
    } catch (const std::exception& fault) {
        fmt::print(stderr, "{}\n", fault.what());
        code = 1;
    }
    HYPRE_Finalize();
    MPI_Finalize();
    return code;
}
