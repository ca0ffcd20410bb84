import _ctypes
import ctypes
import subprocess

import pytest

import crossdock
from crossdock import _extension

OPEN_MPI = "Open MPI v9.9.9, package: another"
MPICH = "MPICH Version:      9.9.9\nMPICH Release date: 2024\n"
INTEL = "Intel(R) MPI Library 2021.18 for Linux* OS"


@pytest.mark.parametrize(("has_abi", "families"), [(False, ["openmpi", "mpich", "mpich"]), (True, ["mpi_abi"] * 3)])
def test_libraries_have_one_of_three_binary_interfaces(has_abi, families, monkeypatch):
    monkeypatch.setattr(_extension, "is_abi_loaded", lambda: has_abi)
    assert [_extension.family_of(text) for text in (OPEN_MPI, MPICH, INTEL)] == families


@pytest.mark.skipif(_extension.is_abi_loaded(), reason="MPI itself is one")
def test_a_library_of_the_abi_is_found_while_it_is_loaded(tmp_path):
    file = tmp_path / "abi.so"
    subprocess.run(["cc", "-shared", "-Wl,-soname,libmpi_abi.so.1", "-o", file, "-xc", "/dev/null"], check=True)
    library = ctypes.CDLL(str(file))
    assert _extension.is_abi_loaded()
    for _ in ("opened here", "opened again to find it"):
        _ctypes.dlclose(library._handle)
    assert not _extension.is_abi_loaded()


@pytest.mark.parametrize(("has_abi", "version", "sentence"), [
    (False, OPEN_MPI, "mpi4py uses Open MPI v9.9.9, but crossdock is not built for it: build it again with the "
                      "compiler of Open MPI, as in MPICC=mpicc pip install ."),
    (False, MPICH, "mpi4py uses MPICH Version: 9.9.9, but crossdock is not built for it: build it again with the "
                   "compiler of MPICH, as in MPICC=mpicc pip install ."),
    (True, MPICH, "mpi4py uses MPICH Version: 9.9.9, but crossdock is not built for it: build it again with the "
                  "compiler of the MPI-5 ABI, as in MPICC=mpicc_abi pip install ."),
])
def test_an_mpi_without_an_extension_is_named(has_abi, version, sentence, monkeypatch):
    def find_nothing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_extension, "is_abi_loaded", lambda: has_abi)
    monkeypatch.setattr(_extension.importlib, "import_module", find_nothing)
    with pytest.raises(ImportError) as raised:
        _extension.load(version)
    assert (str(raised.value), raised.value.name) == (sentence, "crossdock")


def test_two_libraries_of_one_interface_are_named():
    own = _extension.extension.mpi_version()
    another = OPEN_MPI if own.startswith("Open MPI") else MPICH
    with pytest.raises(ImportError, match=r"9\.9\.9, but crossdock is bound to .*: both must load the same library$"):
        _extension.load(another)


def test_what_an_extension_lacks_itself_is_not_hidden(monkeypatch):
    def lack_another(name):
        raise ModuleNotFoundError("No module named 'other'", name="other")

    monkeypatch.setattr(_extension.importlib, "import_module", lack_another)
    with pytest.raises(ModuleNotFoundError, match="other"):
        _extension.load(OPEN_MPI)


def test_the_configuration_is_that_of_the_extension():
    found = crossdock.configuration()
    assert (found["schema"], found["version"]) == ("crossdock.configuration/1", crossdock.__version__)
    assert _extension.extension.mpi_version().startswith(found["mpi"]["library"])
    assert found["build"]["with"]["python"] is True
