"""Questions about tables: from the words of a question to one statement, and from its rows to an answer."""
