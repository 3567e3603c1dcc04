"""Text as pure functions: tokens, sentences, chunks, ranking, fusion and matching. No I/O, no numpy."""
