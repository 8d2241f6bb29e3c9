"""The laws: safety properties that every allocator keeps, whoever made it, judged without
prediction and contract.
"""

from oracle.laws.for_family import AnyLaws, make_laws
from oracle.laws.judgement import Laws
from oracle.laws.violation import LAW_NAMES, Violation

__all__ = ["LAW_NAMES", "AnyLaws", "Laws", "Violation", "make_laws"]
