"""Contracts: types, messages, tools, receipts, evidence, errors and Protocols. Imports nothing else of datamind."""
