"""File loaders of DataMind: documents as text, read in a child process."""
