"""Hypothesis state machines: a store against a model made of dicts, in any order of calls. Need hypothesis."""
