"""Hostile cases: small studies against a server that is odd, broken or malicious, with what must come of them declared.

The rule behind all of them: a reply that is not an answer is missing, money is counted at what may have been charged, and
no single odd value ends a run. `benchmarks/hostile.py` runs the whole table; the suite the most telling rows.
"""
