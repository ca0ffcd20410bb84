import pytest

from crossdock import _extension

MPICH = "MPICH Version:      4.2.0\nMPICH Release date: 2024\n"
INTEL = "Intel(R) MPI Library 2021.18 for Linux* OS"


def test_libraries_have_one_of_two_binary_interfaces():
    assert _extension.family_of("Open MPI v4.1.4, package: Debian OpenMPI") == "openmpi"
    assert _extension.family_of(MPICH) == "mpich"
    assert _extension.family_of(INTEL) == "mpich"


def test_another_mpi_is_found_at_import():
    own = _extension.extension.mpi_version()
    mine = _extension.family_of(own)
    other, others_text = ("mpich", MPICH) if mine == "openmpi" else ("openmpi", "Open MPI v4.1.4, package: Debian")
    built_for = {"openmpi": "Open MPI", "mpich": "MPICH"}[mine]
    with pytest.raises(ImportError, match=f"^mpi4py uses .*, but crossdock is built for {built_for}: build it again") \
            as raised:
        _extension.load(others_text)
    assert raised.value.name == "crossdock"
    assert "\n" not in str(raised.value)
    same_family = "Open MPI v9.9.9, package: another" if mine == "openmpi" else "MPICH Version: 9.9.9"
    with pytest.raises(ImportError, match="9.9.9, but crossdock is bound to .*: both must load the same library"):
        _extension.load(same_family)
    assert other != mine
