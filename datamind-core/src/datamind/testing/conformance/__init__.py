"""One class of tests for each Protocol; a provider's suite is a subclass that opens it. See ``base.Conformance``."""
