import os

# The engine reads it when it is imported, and would write each table it makes to the terminal as a warning.
os.environ.setdefault("LANCEDB_LOG", "error")
