"""The performance history of knnccv."""
