"""The variants that come with knnccv, found by entry points as plugins are."""
