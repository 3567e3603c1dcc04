"""A DataMind plugin to start from."""
