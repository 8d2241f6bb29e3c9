"""The laws: safety properties that every allocator keeps, whoever made it, judged without
prediction and contract.
"""

from oracle.laws.judgement import Laws
from oracle.laws.violation import LAW_NAMES, Violation

__all__ = ["LAW_NAMES", "Laws", "Violation"]
