"""What every room needs: checks of input, forms of output, labels, threads."""
