from spack.package import *


class Crossdock(CMakePackage):
    """crossdock is a library for irregular MPI communication: where every rank sends small messages to many others, in a
    pattern that only the data knows, it sends few, full messages instead."""

    homepage = "https://crossdock.example"
    # packaging/source-archive makes it; `spack dev-build crossdock@0.1.0` needs none.
    url = "https://crossdock.example/crossdock-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("0.1.0")

    variant("shared", default=True, description="Build shared libraries")
    variant("tools", default=True, description="Build the command line")
    variant("fortran", default=True, description="Build the Fortran module")
    variant("drop_in", default=True, description="Build the library for MPI programs that are not changed")
    variant("metis", default=True, when="+tools", description="The command line partitions with METIS")
    variant("generators", default=True, when="+tools", description="The command line makes random graphs")
    variant("petsc", default=False, description="Build the type of PETSc's star forest")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("python@3:", type="build", when="+tools")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("cli11", type="build", when="+tools")

    depends_on("mpi@3.1:")
    depends_on("hwloc@2:")
    depends_on("fmt@9:")
    depends_on("abseil-cpp cxxstd=20")
    depends_on("boost+context", when="+drop_in")
    depends_on("zlib-api", when="+tools")
    depends_on("metis@5:", when="+metis")
    depends_on("random123", when="+generators")
    depends_on("petsc", when="+petsc")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("CROSSDOCK_BUILD_TOOLS", "tools"),
            self.define_from_variant("CROSSDOCK_WITH_FORTRAN", "fortran"),
            self.define_from_variant("CROSSDOCK_WITH_DROP_IN", "drop_in"),
            self.define_from_variant("CROSSDOCK_WITH_METIS", "metis"),
            self.define_from_variant("CROSSDOCK_WITH_GENERATORS", "generators"),
            self.define_from_variant("CROSSDOCK_BUILD_PETSC", "petsc"),
            self.define("CROSSDOCK_BUILD_HYPRE", False),
            self.define("CROSSDOCK_BUILD_TESTS", False),
            self.define("CROSSDOCK_BUILD_EXAMPLES", False),
            self.define("CROSSDOCK_BUILD_STUDIES", False),
            self.define("CROSSDOCK_WARNINGS", False),
        ]
