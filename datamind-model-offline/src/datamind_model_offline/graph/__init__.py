"""Questions about the graph: entities and relations that a question names, and the statements that answer."""
