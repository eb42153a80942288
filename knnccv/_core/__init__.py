"""The machinery: how a sample is scored, the luck of data and splits, and the scores made of them."""
