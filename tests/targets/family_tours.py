"""A walk through every behaviour of each further family, as calls on a bench; the slots are those that the target hands out."""

from __future__ import annotations

from collections.abc import Callable

from eager_calls import Bench
from family_geometries import (
    hisparse,
    hisparse_dsv4,
    mamba_slots,
    page_interleave,
    pure_swa,
    swa_ring,
)

from oracle.geometry import Geometry


def _mamba_slots(bench: Bench) -> None:
    bench.free(bench.call("alloc", need=2).value or (), overwrite=True)
    bench.call("alloc_group_begin", need=9)
    bench.call("alloc_group_end")
    bench.call("alloc_group_begin", need=3)
    for need in (1, 2, 3):
        bench.call("alloc", need=need)
    bench.call("alloc_group_end")
    for need in (2, 1):
        bench.call("alloc_group_begin", need=need)
    bench.call("clear")
    bench.call("alloc", need=1)


def _pure_swa(bench: Bench) -> None:
    row = bench.call("alloc", need=6).value or ()
    bench.free((row[0], 0, -1))
    bench.free(row[1:2], "free_full")
    bench.call("free_group_begin")
    bench.free((row[1], 0), overwrite=True)
    bench.free(row[2:3], "free_swa", overwrite=True)
    bench.call("free_group_end")
    bench.free(row[3:4], "free_swa")
    bench.call("free_group_begin")
    bench.free(row[4:5])
    bench.call("clear")
    bench.free((1,), "free_swa")
    bench.free((2,))
    bench.call("resize", size=7, size_swa=5)


def _swa_ring(bench: Bench) -> None:
    bench.call("take_request_slots", need=1)
    row = bench.fresh(16)
    bench.decode((17, row[-1]))
    bench.tail(4, 8)
    bench.free(row[:4], "free_swa_segment", start_pos=0)
    bench.free(row[5:8], "free_segment", start_pos=5)
    bench.free(row[:4])
    bench.free(row[4:8], "free_segment", start_pos=4)


def _page_interleave(bench: Bench) -> None:
    first = bench.extend((0, 4, -1), (0, 8, -1), rotation_bases=(None, None)).value or ()
    bench.extend((4, 8, first[3]), rotation_bases=(0,))
    bench.extend((0, 40, -1), rotation_bases=(None,))
    bench.call("alloc_cyclic", start_class=0, need=12)
    bench.free(first[4:])
    bench.free(first[:4])
    bench.extend((0, 8, -1), rotation_bases=(None,))
    bench.call("clear")
    row = bench.call("alloc_cyclic", start_class=0, need=24).value or ()
    bench.free(row[8:])
    bench.free(row[:8])
    bench.extend((0, 20, -1), rotation_bases=(0,))


def _logical(bench: Bench, length: int) -> tuple[int, ...]:
    outcome = bench.call(
        "alloc_logical_only",
        prefix_lens=(0,),
        seq_lens=(length,),
        last_loc=(-1,),
        extend_num_tokens=length,
    )
    return outcome.value or ()


def _hisparse_without_a_place(bench: Bench) -> None:
    part = _logical(bench, 2)
    bench.extend((2, 4, part[-1]))


def _hisparse(bench: Bench) -> None:
    row = bench.fresh(12)
    bench.free(row[:4], "free_hisparse")
    bench.call("free_group_begin")
    bench.free(row[4:8])
    bench.call("free_group_end")
    bench.call("alloc_device_buffer", slots=row[8:], need=4)
    row = bench.fresh(6)
    bench.call("alloc_device_buffer", slots=row, need=4)
    row = bench.fresh(6)
    bench.call("alloc_device_buffer", slots=row, need=8)
    bench.free((1, 2), "free_hisparse_indices")
    bench.call("configure_spec_scratch", need=8, device_buffer=16)
    bench.call("request_slot_reserve", need=3, slot_held=True)
    bench.call("configure_spec_scratch", need=6)
    bench.call("clear")
    bench.extend((0, 20, -1))


def _hisparse_part_of_a_page(bench: Bench) -> None:
    bench.free(bench.fresh(8)[1:2], "free_hisparse")


def _hisparse_of_single_slots(bench: Bench) -> None:
    _logical(bench, 1)
    bench.call("alloc", need=3)
    bench.call("alloc", need=2)


def _hisparse_dsv4(bench: Bench) -> None:
    row = bench.fresh(16)
    bench.free(row[:8])
    bench.free((1,), "free_hisparse_indices")
    bench.call("free_group_begin")
    bench.free(row[8:], "free_swa")
    bench.free(row[8:], "free_full")
    row = bench.fresh(8)
    bench.free(row)
    bench.call("free_group_end")
    bench.call("clear")
    row = bench.fresh(5)
    bench.extend((5, 8, row[-1]))


def _dsv4_part_of_a_page(bench: Bench) -> None:
    bench.free(bench.fresh(16)[:4], "free_hisparse")


def _buffers_of_four(bench: Bench) -> None:
    bench.fresh(56)
    bench.call("alloc_device_buffer", slots=tuple(range(4, 18)), need=8)
    bench.call("clear")
    row = bench.fresh(21)
    bench.extend((21, 28, row[-1]))


Tour = Callable[[Bench], None]
TOURS: dict[str, list[tuple[Geometry, Tour]]] = {
    "mamba-slots": [(mamba_slots(), _mamba_slots)],
    "pure-swa": [(pure_swa(), _pure_swa)],
    "swa-ring": [(swa_ring(), _swa_ring)],
    "page-interleave": [
        (page_interleave(need_sort=need_sort), _page_interleave) for need_sort in (False, True)
    ],
    "hisparse": [
        (hisparse(), _hisparse),
        (hisparse(), _hisparse_without_a_place),
        (hisparse(), _hisparse_part_of_a_page),
        (hisparse(size=4, page_size=1), _hisparse_of_single_slots),
    ],
    "hisparse-dsv4": [
        (hisparse_dsv4(), _hisparse_dsv4),
        (hisparse_dsv4(), _dsv4_part_of_a_page),
        (hisparse_dsv4(size=128, device_size=16, page_size=16), _buffers_of_four),
    ],
}
