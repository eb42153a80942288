"""What every room needs: checks of input, forms of output, labels, threads."""

__version__ = "0.1.0"
