"""Exporting one trace inside a child process: the trace runs on the target, the text of the program is told.

Guarantees that a target which ends its process, or prints, does neither to the command.
"""

from __future__ import annotations

from campaigns.export import render
from campaigns.messages import Exported, ExportJob
from campaigns.scripting import check_scriptable
from oracle.finding import Finding
from oracle.lockstep import Judging, Session, run_trace
from oracle.target import Target
from oracle.trace import Trace


def export(job: ExportJob, target: Target) -> Exported:
    """The text of the program. Raises ``UsageError`` when none can be made of the trace."""
    session, finding = _judged(job.trace, target)
    check_scriptable(target)
    text = render(
        job.trace,
        job.where.target,
        format=job.form,
        finding=finding,
        session=session,
        file_name=job.file_name,
        made=target,
    )
    return Exported(text)


def _judged(trace: Trace, target: Target) -> tuple[Session, Finding | None]:
    """The session to export and its finding: the first that is no hazard, else the first, of the prediction or the laws."""
    session = run_trace(trace, [target], keep_records=True)
    if not session.findings:
        lawful = run_trace(trace, [target], Judging(prediction=False), keep_records=True)
        session = lawful if lawful.findings else session
    found = sorted(session.findings, key=lambda finding: finding.kind == "hazard")
    return session, found[0] if found else None
