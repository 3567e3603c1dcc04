"""What a plugin author tests with: a scripted model, fakes, strategies and a conformance kit for every Protocol.

Its modules are imported one by one: ``models``, ``fakes`` and ``gates`` need core alone, ``strategies``
and ``machines`` need hypothesis, ``conformance`` needs pytest (all in the extra ``testing``).
"""
