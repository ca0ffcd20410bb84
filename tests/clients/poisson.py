"""Poisson's equation on a unit square with DOLFINx; rank 0 prints the norm of the solution."""
import numpy as np
import ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py.PETSc import ScalarType

square = mesh.create_unit_square(MPI.COMM_WORLD, 48, 48)
space = fem.FunctionSpace(square, ("Lagrange", 2))
u, v, x = ufl.TrialFunction(space), ufl.TestFunction(space), ufl.SpatialCoordinate(square)
border = mesh.locate_entities_boundary(
    square, 1, lambda at: np.isclose(at[0], 0) | np.isclose(at[0], 1) | np.isclose(at[1], 0) | np.isclose(at[1], 1))
zero = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(space, 1, border), space)
problem = LinearProblem(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, 10 * x[0] * v * ufl.dx, bcs=[zero],
                        petsc_options={"ksp_type": "cg", "pc_type": "jacobi", "ksp_rtol": 1e-10})
solution = problem.solve()
norm = square.comm.allreduce(fem.assemble_scalar(fem.form(ufl.inner(solution, solution) * ufl.dx)), MPI.SUM) ** 0.5
if square.comm.rank == 0:
    print(f"norm {norm:.11e} after {problem.solver.getIterationNumber()} iterations")
