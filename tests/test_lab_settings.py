"""``make lab``: a chapter opens as a notebook with a double click, and saving it changes no word of it.

A JupyterLab is started on this machine with the settings of ``book/_lab`` and asked over its own interface.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "book" / "_lab"
VIEWERS = {"markdown": "Jupytext Notebook", "myst": "Jupytext Notebook"}

needs_lab = pytest.mark.skipif(
    importlib.util.find_spec("jupyterlab") is None, reason="JupyterLab is missing: make lab"
)


def test_the_command_uses_these_settings():
    recipe = re.search(r"^lab: .*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[1]
    assert recipe == "JUPYTER_CONFIG_PATH=book/_lab $(BIN)/jupyter lab --LabApp.default_url=/lab/tree/chapters"
    overrides = json.loads((SETTINGS / "labconfig/default_setting_overrides.json").read_text(encoding="utf-8"))
    assert overrides["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"] == VIEWERS


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab over a copy of the chapters; gives (ask, folder). Only this process is ended."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "book" / "chapters"
    shutil.copytree(ROOT / "chapters", folder, ignore=shutil.ignore_patterns("results", "*.ipynb"))
    shutil.copy(ROOT / "pyproject.toml", folder.parent)  # holds jupytext's settings
    places = {"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime"}
    environment = {**os.environ, **{name: str(home / place) for name, place in places.items()}}
    environment |= {"JUPYTER_CONFIG_PATH": str(SETTINGS), "JUPYTERLAB_SETTINGS_DIR": str(home / "settings")}
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    options += ["--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True"]
    options += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate", "--LabApp.news_url="]
    command = [sys.executable, "-m", "jupyterlab", *options, str(folder.parent)]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as server:
        try:
            said = []
            for line in server.stderr:
                said.append(line)
                found = re.search(r"http://127\.0\.0\.1:\d+/", line)
                if found:
                    break
            else:
                pytest.fail("".join(said))

            def ask(path, data=None):
                body = None if data is None else json.dumps(data).encode()
                method = "GET" if body is None else "PUT"
                with urllib.request.urlopen(urllib.request.Request(found[0] + path, body, method=method)) as answer:
                    return json.load(answer)

            for _ in range(100):  # the address is printed a moment before it is served
                try:
                    ask("api/status")
                    break
                except OSError:
                    time.sleep(0.2)
            yield ask, folder
        finally:
            server.terminate()
            server.stderr.close()


@needs_lab
@pytest.mark.slow
def test_a_double_click_opens_a_chapter_as_a_notebook(lab):
    ask, _ = lab
    settings = ask("lab/api/settings/@jupyterlab/docmanager-extension:plugin")
    assert settings["schema"]["properties"]["defaultViewers"]["default"] == VIEWERS
    listed = ask("api/contents/chapters?content=1")["content"]
    assert {entry["type"] for entry in listed if entry["name"].endswith(".md")} == {"notebook"}
    chapter = ask("api/contents/chapters/01_gradients.md?type=notebook&content=1")
    kinds = [cell["cell_type"] for cell in chapter["content"]["cells"]]
    assert kinds.count("code") > 20
    assert "markdown" in kinds


def without_layout(text):
    """Read a chapter's headers, which may be laid out anew, and keep the rest as it is."""
    header = re.compile(r"^---\n(.*?)^---\n", re.M | re.S)
    read = [yaml.safe_load(match[1]) for match in header.finditer(text)]
    return header.sub("", text), read


@needs_lab
@pytest.mark.slow
def test_saving_changes_no_word_of_a_chapter(lab):
    ask, folder = lab
    before = (folder / "01_gradients.md").read_text(encoding="utf-8")
    chapter = ask("api/contents/chapters/01_gradients.md?type=notebook&content=1")
    ask("api/contents/chapters/01_gradients.md", {key: chapter[key] for key in ("type", "format", "content")})
    after = (folder / "01_gradients.md").read_text(encoding="utf-8")
    assert without_layout(after) == without_layout(before)
