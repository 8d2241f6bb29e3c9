"""What kvoracle raises when it cannot do what was asked: one sentence, no finding.

A fault of an allocator is never one of these: it is a finding. These say that the question could
not be put: the command line is wrong, the target cannot be had, a file does not hold what it should.
The message of each is one sentence that names the offending thing and what to do about it; the
command line prints it as it is and leaves with exit code 2.
"""

from __future__ import annotations


class KvoracleError(Exception):
    """The base of every error that kvoracle itself raises on purpose; `str()` is the sentence."""


class UsageError(KvoracleError):
    """What the person asked for makes no sense: an unknown name, an impossible combination."""


class TargetUnavailable(KvoracleError):  # noqa: N818 (the sentence is the message)
    """The target cannot be had here: no such release, no index, no such checkout, no Triton."""


class TargetFaultError(KvoracleError):
    """A target of another package does not do as the protocol says: it raised, or gave back what it must not."""


def reason_of(error: OSError) -> str:
    """Why a folder or a file could not be had, as a part of a sentence."""
    if isinstance(error, FileExistsError):
        # Raised where a folder is to be made, and a folder that is there already is none of its reasons.
        return "there is a file of that name, and a folder is needed"
    return error.strerror or str(error)
