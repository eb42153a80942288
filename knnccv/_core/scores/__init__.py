"""What the public calls return: scores, curves, and what is asked of them."""
