"""The probe of host syncs for a device: what really waits on CUDA, what would wait there on a CPU."""

from __future__ import annotations

from targets.probes.cuda_syncs import CudaSyncs
from targets.probes.host_reads import HostReads


def host_sync_probe(device: str) -> CudaSyncs | HostReads:
    """The probe for ``device`` (``cpu``, ``cuda``, ``cuda:1``). Raises BlindDetectorError when the detector does not work on it."""
    return CudaSyncs() if device.startswith("cuda") else HostReads()
