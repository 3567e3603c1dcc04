"""What a plugin author tests with: a scripted model, fakes, strategies and a conformance kit for every Protocol.

The modules of this package are imported one by one: ``script``, ``models`` and ``fakes`` need core alone, ``strategies``
and ``machines`` need hypothesis, ``conformance`` needs pytest (all in the extra ``testing``).
"""
