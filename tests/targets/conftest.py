"""Fixtures of the target tests: an index and an SGLang tree made up on the spot."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

# A made-up tree: the shapes that matter to an importer and no line of the real one.
TREE = {
    "sglang/__init__.py": "raise RuntimeError('the engine was started')\n",
    "sglang/_version.py": "__version__ = version = '0.5.23'\n",
    "sglang/srt/__init__.py": "raise RuntimeError('the engine was started')\n",
    "sglang/srt/environ.py": "LEVEL = 0\n",
    "sglang/srt/server.py": "raise RuntimeError('the server was started')\n",
    "sglang/srt/utils/__init__.py": "from sglang.srt.utils.common import *\n",
    "sglang/srt/utils/common.py": (
        "import nothing_like_this.inner as inner\n"
        "from nothing_like_this import Base, decorate\n"
        "class Derived(Base):\n    answer = 42\n"
        "@decorate\ndef plain(x):\n    return x + 1\n"
        "@decorate(1)\ndef parametrised(x):\n    return x + 2\n"
        "def needs_it():\n    return Base(1)\n"
        "def asks_it():\n    return 'yes' if Base else 'no'\n"
        "def lazily():\n    import another_absent_thing\n    return another_absent_thing\n"
    ),
    "sglang/srt/mem_cache/memory_pool.py": "raise RuntimeError('tensors were made')\n",
    "sglang/srt/mem_cache/base_swa_memory_pool.py": (
        "import abc\n"
        "from sglang.srt.mem_cache.memory_pool import KVCache\n"
        "class BaseSWAKVPool(KVCache):\n"
        "    @abc.abstractmethod\n    def anything(self): ...\n"
    ),
    "sglang/srt/mem_cache/later.py": "class Budget: ...\n",
    "sglang/srt/mem_cache/unrelated.py": "from sglang.srt.server import run\n",
    "sglang/srt/mem_cache/allocator/__init__.py": (
        "from sglang.srt.environ import LEVEL\n"
        "from sglang.srt.utils import Derived, plain\n"
        "class TokenToKVPoolAllocator:\n"
        "    def __init__(self, size, dtype, device, kvcache):\n"
        "        self.size, self.need_sort = size, 'has none'\n"
        "    def budget(self):\n"
        "        from sglang.srt.mem_cache.later import Budget\n"
        "        return Budget()\n"
        "class PagedTokenToKVPoolAllocator:\n"
        "    use_triton_kernels = False\n"
        "    def __init__(self, size, page_size, dtype, device, kvcache, need_sort):\n"
        "        self.size, self.page_size, self.need_sort = size, page_size, need_sort\n"
    ),
    "sglang/srt/mem_cache/allocator/swa.py": (
        "from sglang.srt.mem_cache.base_swa_memory_pool import BaseSWAKVPool\n"
        "class SWATokenToKVPoolAllocator:\n"
        "    def __init__(self, size, size_swa, page_size, dtype, device, kvcache, need_sort):\n"
        "        assert isinstance(kvcache, BaseSWAKVPool)\n"
        "        self.sizes = size, size_swa\n"
        "        kvcache.register_mapping(self)\n"
        "        self.pool = kvcache\n"
    ),
}


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker of tests that read a real release."""
    config.addinivalue_line(
        "markers", "release: needs real SGLang releases, from the package index or a cache"
    )


@pytest.fixture
def made_up_tree(tmp_path: Path) -> Path:
    """The folder with the made-up `sglang` folder in it."""
    root = tmp_path / "tree"
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def _write_wheel(file: Path, version: str) -> None:
    metadata = f"sglang-{version}.dist-info"
    tag = file.stem.split("-", 2)[2]
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in TREE.items():
            archive.writestr(name, text)
        archive.writestr("sglang/srt/utils/kernel.so", "not Python")
        archive.writestr(
            f"{metadata}/METADATA", f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n"
        )
        archive.writestr(
            f"{metadata}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        )
        archive.writestr(f"{metadata}/RECORD", "")


@pytest.fixture
def made_up_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Publish a made-up wheel on an index on this disk, the only one that pip then sees.

    Arguments of the callable: version, tag, and the text after the link's `#`, where `{sha256}`
    is the wheel's hash. Returns the index's folder.
    """
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    index = tmp_path / "index"
    project = index / "sglang"
    project.mkdir(parents=True)
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    links: list[str] = []

    def publish(version: str, tag: str = "py3-none-any", fragment: str = "sha256={sha256}") -> Path:
        file = project / f"sglang-{version}-{tag}.whl"
        _write_wheel(file, version)
        stated = fragment.format(sha256=hashlib.sha256(file.read_bytes()).hexdigest())
        links.append(f'<a href="{file.name}#{stated}">{file.name}</a>')
        page = "<!DOCTYPE html><html><body>" + "\n".join(links) + "</body></html>"
        (project / "index.html").write_text(page)
        return index

    return publish
