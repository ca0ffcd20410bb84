"""What the checkers of this folder and their tests have in common."""
import sys
import tempfile
from pathlib import Path


def check(find_faults, well):
    """Prints the faults of the project folder that the command line names, or else of this one.

    Returns the exit code.
    """
    project = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]
    faults = find_faults(project)
    print("\n".join(faults) if faults else well)
    return 1 if faults else 0


def faults_of_files(find_faults, files):
    """What is found in a project of these files: their text by their name."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return find_faults(Path(folder))
