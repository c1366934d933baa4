"""Tables: every cell arrives, what is special in HTML is escaped, and sentences stay sentences."""

from mhc_np.lab.tables import Table


def test_cells_arrive_in_order_and_escaped():
    shown = Table("| a | b |\n|---|---|\n| 1 < 2 | `x & y` |\n| – | **z** |")._repr_html_()
    assert shown.count("<tr>") == 3
    assert "<th>a</th><th>b</th>" in shown
    assert "<td>1 &lt; 2</td><td><code>x &amp; y</code></td>" in shown
    assert shown.index("&lt;") < shown.index("<strong>z</strong>")


def test_a_sentence_is_a_paragraph():
    assert Table("No cell yet: `run`.")._repr_html_() == "<p>No cell yet: <code>run</code>.</p>"
    assert repr(Table("No cell yet")) == "No cell yet"


def test_the_two_engines_see_the_same_words():
    text = "| a |\n|---|\n| b |"
    assert repr(Table(text)) == text
