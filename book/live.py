"""Pack what code needs that runs in the page: called when the book is built (``engine.py``).

The book itself carries its package, so that text and code cannot part: ``_static/live_files.js`` holds
one zip, of `mhc_np`, of the saved results that chapters read, and of the two pure Python packages on
which `mhc_np` stands, in the versions that made the book. Python, NumPy and Matplotlib are compiled:
``live.js`` fetches those, on a click, from Pyodide's own address. The zip is written as a script since
a page that is read from disk may load scripts and nothing else.
"""

import base64
import io
import zipfile
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path

BOOK = Path(__file__).resolve().parent
ROOT = BOOK.parent
FROM_BOOK = ("mhc_np/**/*.py", "mhc_np/**/*.npz", "chapters/results/**/*.json")
PURE = ("autograd", "tqdm")
LONG_AGO = (2020, 1, 1, 0, 0, 0)  # one date for all: the same sources make the same file


def files():
    """Yield (name in the archive, path) of everything that a cell may import or read."""
    yield "live_session.py", BOOK / "live_session.py"
    for pattern in FROM_BOOK:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path
    for package in PURE:
        folder = Path(find_spec(package).origin).parent
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(folder.parent).as_posix(), path
        for file in sorted(distribution(package).files or (), key=str):  # its version and its licence
            if "dist-info/METADATA" in str(file) or "licenses" in file.parts:
                yield file.as_posix(), Path(file.locate())


def archive():
    """Return the zip as bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, path in files():
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, path.read_bytes(), compresslevel=9)
    return stream.getvalue()


def write(static):
    """Write the archive as a script into the folder of static files."""
    text = base64.b64encode(archive()).decode()
    (Path(static) / "live_files.js").write_text(f'window.liveFiles = "{text}";\n', encoding="ascii")
