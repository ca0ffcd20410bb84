"""A ring of cells with gap junctions in NEURON; rank 0 prints the voltages at the end."""
from mpi4py import MPI
from neuron import h

h.load_file("stdrun.hoc")
world = MPI.COMM_WORLD
parallel = h.ParallelContext()
num_cells = 64
cells, junctions = {}, []
for gid in range(world.rank, num_cells, world.size):
    cell = cells[gid] = h.Section(name=f"cell{gid}")
    cell.L = cell.diam = 20
    cell.insert("pas")
    cell(0.5).pas.e = -80 + gid % 17
    parallel.source_var(cell(0.5)._ref_v, gid, sec=cell)
for gid, cell in cells.items():
    for neighbor in [(gid + 1) % num_cells, (gid - 1) % num_cells, (gid + 9) % num_cells]:
        # A clamp on the voltage of the other side is half a gap junction.
        junction = h.SEClamp(cell(0.5))
        junction.rs, junction.dur1 = 50, 1e9
        parallel.target_var(junction, junction._ref_amp1, neighbor)
        junctions.append(junction)
parallel.setup_transfer()
parallel.set_maxstep(10)
h.finitialize(-65)
parallel.psolve(25)
voltages = [pair for pairs in world.allgather([(gid, cell(0.5).v) for gid, cell in cells.items()]) for pair in pairs]
if world.rank == 0:
    print("voltages", " ".join(f"{voltage:.9f}" for _, voltage in sorted(voltages)))
