"""Real SGLang releases as targets: fetched, found, and imported without their dependencies.

No line of SGLang is kept here; its code is only read from a wheel, a checkout or an installation.
"""
