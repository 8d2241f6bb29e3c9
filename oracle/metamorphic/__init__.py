"""Relations between two runs of one allocator that the contract guarantees, so that no prediction is needed to judge them."""

from oracle.metamorphic.check import RELATIONS as RELATIONS
from oracle.metamorphic.check import judge_relation as judge_relation
from oracle.metamorphic.check import run_both as run_both
from oracle.metamorphic.subjects import related_traces as related_traces
