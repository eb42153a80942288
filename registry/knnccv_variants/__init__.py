"""The variants that come with knnccv, found by the same entry points as anybody's."""
