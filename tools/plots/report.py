"""Makes one HTML page of results: report.py < [{"path": ..., "text": ...}, ...] > page."""

import sys

import plotting  # first, as it says so where there is no matplotlib
from results import Results


def main():
    results = Results(plotting.read_input())
    import page  # it takes a second, which a refused file need not wait

    sys.stdout.buffer.write(page.html_of(results).encode())


if __name__ == "__main__":
    main()
