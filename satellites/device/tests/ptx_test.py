#!/usr/bin/env python3
"""src/kernels.ptx is what nvcc makes of src/kernels.hpp, and assembles for newer devices. clang compiles
src/kernels.hpp for devices of HIP, too.

usage: ptx_test.py [--nvcc NVCC] [--clang CLANG --device-libraries FOLDER]   what is not given is not checked
"""
import argparse
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
PTX = FOLDER / "src/kernels.ptx"
parser = argparse.ArgumentParser()
for option in ("nvcc", "clang", "device-libraries"):
    parser.add_argument(f"--{option}", type=Path)
TOOLS, sys.argv[1:] = parser.parse_known_args()
NVCC = TOOLS.nvcc
MADE_BY = "release 13.0"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")


HIP_ARCHITECTURES = ("gfx906", "gfx90a", "gfx1030")


def kernel_names():
    source = (FOLDER / "src/kernels.hpp").read_text()
    words = re.findall(r"^    COPY\((\d+),", source, re.M)
    types = re.findall(r"^    FOLD\(operation, (\w+),", source, re.M)
    operations = re.findall(r"^    CROSSDOCK_DEVICE_FOLDS\(FOLD, (\w+)\)", source, re.M)
    return [f"crossdock_copy_{bytes}" for bytes in words] + [
        f"crossdock_fold_{operation}_{type}" for operation in operations for type in types]


class HipTest(unittest.TestCase):
    @unittest.skipUnless(TOOLS.clang and TOOLS.device_libraries, "no clang with device libraries")
    def test_compiles_for_all_devices(self):
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder) / "kernels.hip", Path(folder) / "kernels.o"
            source.write_text('#include "kernels.hpp"\n')
            for architecture in HIP_ARCHITECTURES:
                subprocess.run([TOOLS.clang, "-x", "hip", f"--offload-arch={architecture}", "--cuda-device-only",
                                "--no-gpu-bundle-output", "--rocm-path=/usr", "-std=c++17", "-O3", "-Wall", "-Werror",
                                f"--rocm-device-lib-path={TOOLS.device_libraries}", "-I", FOLDER / "src",
                                "-include", "hip/hip_runtime.h", "-c", source, "-o", made], check=True)
                # Each kernel has a descriptor, which the driver launches it by.
                names = re.findall(rb"\0(crossdock_\w+)\.kd(?=\0)", made.read_bytes())
                self.assertEqual(sorted(name.decode() for name in set(names)), sorted(kernel_names()))


class PtxTest(unittest.TestCase):
    def test_has_all_kernels(self):
        expected = kernel_names()
        self.assertEqual(len(expected), 17)
        self.assertEqual(re.findall(r"\.entry (\w+)\(", PTX.read_text()), expected)

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_assembles_for_newer_devices(self):
        for architecture in ARCHITECTURES:
            subprocess.run([NVCC.parent / "ptxas", f"-arch={architecture}", "-o", "/dev/null", PTX], check=True)

    @unittest.skipUnless(NVCC, "no nvcc")
    def test_is_made_of_the_source(self):
        version = subprocess.run([NVCC, "--version"], check=True, capture_output=True, text=True).stdout
        if MADE_BY not in version:
            self.skipTest(f"the text was made by CUDA's {MADE_BY}")
        with tempfile.TemporaryDirectory() as folder:
            made = Path(folder) / "kernels.ptx"
            subprocess.run([FOLDER / "scripts/make_ptx", NVCC, made], check=True)
            self.assertEqual(made.read_text(), PTX.read_text())


if __name__ == "__main__":
    unittest.main()
