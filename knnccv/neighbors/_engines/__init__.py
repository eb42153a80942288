"""The engines behind `knnccv.Neighbors`: what is near to what, block by block."""
