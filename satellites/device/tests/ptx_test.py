#!/usr/bin/env python3
"""src/kernels.ptx is what nvcc makes of src/kernels.hpp, and assembles for newer devices.

usage: ptx_test.py [nvcc]   without nvcc only the names are compared
"""
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
PTX = FOLDER / "src/kernels.ptx"
NVCC = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
MADE_BY = "release 13.0"
ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100")


class PtxTest(unittest.TestCase):
    def test_has_all_kernels(self):
        source = (FOLDER / "src/kernels.hpp").read_text()
        words = re.findall(r"^    COPY\((\d+),", source, re.M)
        types = re.findall(r"^    FOLD\(operation, (\w+),", source, re.M)
        operations = re.findall(r"^    CROSSDOCK_DEVICE_FOLDS\(FOLD, (\w+)\)", source, re.M)
        expected = [f"crossdock_copy_{bytes}" for bytes in words]
        expected += [f"crossdock_fold_{operation}_{type}" for operation in operations for type in types]
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
