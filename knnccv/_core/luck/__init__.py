"""The luck of the data (inference, halves) and of the split (runs, scorings)."""
