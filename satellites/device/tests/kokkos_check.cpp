// Views of Kokkos are exchanged as arrays are: those of the host, and unmanaged ones over memory of a device.
#include <gtest/gtest.h>
#include <mpi.h>

#include <Kokkos_Core.hpp>

#include "crossdock/device_kokkos.hpp"
#include "support.hpp"
#include "tests/support/patterns.hpp"

namespace crossdock::device_test {

namespace {

template <class Data>
using host_view = Kokkos::View<Data, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class Data>
using device_view = Kokkos::View<Data, Kokkos::LayoutRight, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

#if defined(KOKKOS_ENABLE_SERIAL) && defined(KOKKOS_ENABLE_OPENMP)
using spaces = testing::Types<Kokkos::Serial, Kokkos::OpenMP>;
#else
using spaces = testing::Types<Kokkos::DefaultHostExecutionSpace>;
#endif

template <class Space>
class KokkosViews : public testing::Test {
  protected:
    ~KokkosViews() override { world.close(); }

    context world{MPI_COMM_WORLD};
    const pattern drawn =
        test::random_pattern(world.num_ranks())[static_cast<std::size_t>(world.rank())];
    const std::shared_ptr<driver> opened = device::open();
};
TYPED_TEST_SUITE(KokkosViews, spaces);

TYPED_TEST(KokkosViews, OfTheHostAreExchangedThere) {
    const auto& p = this->drawn;
    const auto num_items = static_cast<std::size_t>(p.num_items);
    const auto num_slots = static_cast<std::size_t>(p.num_slots);
    const host_view<double*> x("x", num_items), y("y", num_slots);
    auto items = draw<double>(p.num_items, static_cast<std::uint64_t>(this->world.rank()));
    std::vector<double> slots(num_slots);
    Kokkos::parallel_for(Kokkos::RangePolicy<TypeParam>(0, num_items),
                         [&](std::size_t i) { x(i) = items[i]; });
    crossdock::neighbor_exchange halo(this->world, p), plain(this->world, p);
    device::start(halo, x, y, TypeParam());
    device::wait(halo, TypeParam());
    plain.forward(items, slots);
    EXPECT_TRUE(std::equal(slots.begin(), slots.end(), y.data()));
    device::start_reverse(halo, y, x, sum{}, TypeParam());
    device::wait(halo, TypeParam());
    plain.reverse(slots, items, sum{});
    EXPECT_TRUE(std::equal(items.begin(), items.end(), x.data()));
}

// Rows of a view of rank 2 are items.
TYPED_TEST(KokkosViews, OfADeviceAreExchangedThere) {
    const auto& p = this->drawn;
    const auto& on = this->opened;
    constexpr count_t width = 3;
    auto items = draw<double>(p.num_items * width, static_cast<std::uint64_t>(this->world.rank()));
    auto slots = draw<double>(p.num_slots * width, 7);
    const device_array<double> from(*on, items), to(*on, slots);
    const auto rows = [](const auto& array, count_t size) {
        return device_view<double**>(array.data(), static_cast<std::size_t>(size),
                                     static_cast<std::size_t>(width));
    };
    device::neighbor_exchange halo(this->world, p, {}, on);
    device::start(halo, rows(from, p.num_items), rows(to, p.num_slots), TypeParam());
    device::wait(halo, TypeParam());
    crossdock::neighbor_exchange plain(this->world, p);
    plain.start_bytes(std::as_bytes(std::span(items)), std::as_writable_bytes(std::span(slots)),
                      sizeof(double) * static_cast<std::size_t>(width));
    plain.wait();
    EXPECT_EQ(to.get(nullptr), slots);
}

// Each rank sends to all; the last one gives wrong views.
template <class Space, class View, class Wide, class Exchange>
void expect_faults_told(const context& world, Exchange& halo, const pattern& p, double* memory) {
    const auto size = static_cast<std::size_t>(std::max(p.num_items, p.num_slots));
    const View x(memory, size), y(memory + size, size);
    const Wide wide(memory + 2 * size, size, 2);
    const auto gaps = Kokkos::subview(wide, Kokkos::ALL(), 0);
    const bool is_wrong = world.rank() == world.num_ranks() - 1;
    const auto expect_told = [&](auto&& start_wrong, auto&& start_right) {
        if (is_wrong) {
            EXPECT_EQ(code_of(start_wrong), errc::invalid_argument);
            EXPECT_FALSE(halo.is_active());
        } else {
            start_right();
            EXPECT_EQ(code_of([&] { device::wait(halo, Space()); }), errc::peer_failed);
        }
    };
    const auto start = [&] { device::start(halo, x, y, Space()); };
    const auto start_back = [&] { device::start_reverse(halo, y, x, sum{}, Space()); };
    expect_told([&] { device::start(halo, gaps, y, Space()); }, start);
    expect_told([&] { device::start(halo, x, gaps, Space()); }, start);
    expect_told([&] { device::start(halo, x, wide, Space()); }, start);
    expect_told([&] { device::start_reverse(halo, gaps, x, sum{}, Space()); }, start_back);
    start();
    device::wait(halo, Space());
}

TYPED_TEST(KokkosViews, ThatAreWrongFailForThoseWhoNeedThem) {
    const auto& on = this->opened;
    const auto own = test::all_to_all_pattern(
        this->world.num_ranks())[static_cast<std::size_t>(this->world.rank())];
    std::vector<double> values(
        static_cast<std::size_t>(4 * std::max(own.num_items, own.num_slots)));
    const device_array<double> there(*on, values);
    using rows = device_view<double**>;
    crossdock::neighbor_exchange host(this->world, own, {.route = "direct"});
    expect_faults_told<TypeParam, device_view<double*>, rows>(this->world, host, own,
                                                              values.data());
    device::neighbor_exchange halo(this->world, own, {.route = "direct"}, on);
    expect_faults_told<TypeParam, device_view<double*>, rows>(this->world, halo, own, there.data());
}

}  // namespace

}  // namespace crossdock::device_test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    testing::InitGoogleTest(&argc, argv);
    Kokkos::initialize(argc, argv);
    const int code = RUN_ALL_TESTS();
    Kokkos::finalize();
    MPI_Finalize();
    return code;
}
