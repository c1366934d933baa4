"""A table for a notebook, written as a Markdown table and shown as HTML: not every book engine reads Markdown outputs.

Chapter: chapters/15_the_question.md      Tests: tests/test_tables.py
"""

import html
import re


class Table:
    r"""A table, or a sentence where there is nothing to tabulate yet.

    Parameters
    ----------
    text : str
        A Markdown table: a line a row, cells between ``|``, the second line the rule. Bold in two asterisks, code in
        backticks and links are understood, no more. Text that does not begin with ``|`` is shown as a paragraph.

    Examples
    --------
    >>> Table("| arm | KL |\n|---|---|\n| **mhc** | < .1 |")
    | arm | KL |
    |---|---|
    | **mhc** | < .1 |
    >>> Table("| a |\n|---|\n| **b** |")._repr_html_()
    '<table class="table"><thead><tr><th>a</th></tr></thead><tbody><tr><td><strong>b</strong></td></tr></tbody></table>'
    >>> Table("see [chapter 13](13_mhc.html)")._repr_html_()
    '<p>see <a href="13_mhc.html">chapter 13</a></p>'
    """

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        """Return the Markdown."""
        return self.text

    def _repr_html_(self):
        if not self.text.startswith("|"):
            return f"<p>{_inline(self.text)}</p>"
        head, _, *body = [line.strip().strip("|").split("|") for line in self.text.splitlines()]
        rows = "".join(_row(cells, "td") for cells in body)
        return f'<table class="table"><thead>{_row(head, "th")}</thead><tbody>{rows}</tbody></table>'


def _row(cells, tag):
    return "<tr>" + "".join(f"<{tag}>{_inline(cell.strip())}</{tag}>" for cell in cells) + "</tr>"


def _inline(text):
    text = html.escape(text, quote=False)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"`(.+?)`", r"<code>\1</code>", text)
    return re.sub(r"\[([^\]]+)\]\(([^)\s\"]+)\)", r'<a href="\2">\1</a>', text)
