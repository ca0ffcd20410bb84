"""Pictures with matplotlib, of the command line and of the Python package."""
