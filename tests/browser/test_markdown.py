"""Markdown on the page: what people write is drawn as they mean it, and what is hostile does nothing."""

from typing import Any

from playwright.sync_api import Page, expect
from tests.browser.filling import add_note
from tests.browser.modules import with_modules
from tests.engine_program import EngineProgram

DRAW = with_modules("""async (text) => {
  const { renderMarkdown } = await load("kit/markdown.js");
  const holder = document.createElement("div");
  holder.append(...renderMarkdown(text));
  return holder.innerHTML;
}""")

TIMED = with_modules("""async (text) => {
  const { renderMarkdown } = await load("kit/markdown.js");
  const start = performance.now();
  renderMarkdown(text);
  return performance.now() - start;
}""")

OUTWARD = 'target="_blank" rel="noopener noreferrer nofollow"'

DRAWN = {
    "# One\n\nTwo\n---": "<h3>One</h3><h4>Two</h4>",
    "a *b **c*** ~~d~~ `e*`": "<p>a <em>b <strong>c</strong></em> <del>d</del> <code>e*</code></p>",
    "snake_case_name, 2 * 3 * 4, \\*": "<p>snake_case_name, 2 * 3 * 4, *</p>",
    "one  \ntwo\\\nthree": "<p>one<br>two<br>three</p>",
    "- a\n  - b\n- c": "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>",
    "3. a\n4. b": '<ol start="3"><li>a</li><li>b</li></ol>',
    "1. a\n\n2. b": "<ol><li><p>a</p></li><li><p>b</p></li></ol>",
    "In\n1914. came": "<p>In\n1914. came</p>",
    "> a\nb\n> > c": "<blockquote><p>a\nb</p><blockquote><p>c</p></blockquote></blockquote>",
    "```py\nx < 1\n```": '<pre><code data-language="py">x &lt; 1</code></pre>',
    "    a\n\n    b": "<pre><code>a\n\nb</code></pre>",
    "***": "<hr>",
    "[a](https://x.org/b_(c) 'd')": f'<p><a href="https://x.org/b_(c)" title="d" {OUTWARD}>a</a></p>',
    "[a][B]\n\n[b]: https://x.org": f'<p><a href="https://x.org" {OUTWARD}>a</a></p>',
    "(https://x.org/a_b).": f'<p>(<a href="https://x.org/a_b" {OUTWARD}>https://x.org/a_b</a>).</p>',
    "<me@x.org>": f'<p><a href="mailto:me@x.org" {OUTWARD}>me@x.org</a></p>',
    "[map](#/map)": '<p><a href="#/map">map</a></p>',
    "[next](other.md)": '<p><span class="unlinked" title="other.md">next</span></p>',
    "&lt;b&gt; &amp; &#169; &nothing;": "<p>&lt;b&gt; &amp; © &amp;nothing;</p>",
}

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>a</a>",
    "<style>@import 'https://evil.example/a.css';</style>",
    "<base href='https://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<form action='https://evil.example/'><button>b</button></form>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](<java\tscript:alert(1)>)",
    "[a](java&#10;script:alert(1))",
    "[a](&#106;avascript&#58;alert(1))",
    "[a](\u0001javascript:alert(1))",
    "[a](\u00a0javascript:alert(1))",
    "[a](\u200bjavascript:alert(1))",
    "[a](%6aavascript:alert(1))",
    "[a](javascript\\:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:msgbox(1))",
    "[a](file:///etc/passwd)",
    "[a](blob:https://evil.example/1)",
    "[a](//evil.example/b)",
    "[a](\\\\evil.example/b)",
    "[a][b]\n\n[b]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![a](https://evil.example/pixel.png)",
    "![a](javascript:alert(1))",
    "![a](data:image/svg+xml,<svg/onload=alert(1)>)",
    "[![a](https://evil.example/b.png)](javascript:alert(1))",
    '[a](https://x.org/" onmouseover="alert(1))',
    "[a](https://x.org 'b\" onclick=\"alert(1)')",
    '```"><script>alert(1)</script>\na\n```',
    "| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |",
    "# <img src=x onerror=alert(1)>",
    "constructor __proto__ [toString] [a][__proto__]",
]

# Each is repeated up to 100,000 characters.
TIRING = [
    "[", "]", "*", "_", "~~", ">", "> ", "`", "`a``", "- ", "* a\n", "- a\n\n", "1. ", "[a](", "[a](<b", '[a](b "c',
    "![", "*a ", "*a **b ", "a* ", "<", "<a:", "&", "\\", "http://", "http://a)", "|", "|a|\n", "|-", "a  \n", "#",
    "=\n", "```\n", "[a]: b\n", "> - 1. ", "**_*_", "_a_ ",
]  # fmt: skip


HARMLESS_ATTRIBUTES = {"class", "href", "title", "target", "rel", "data-language", "tabindex", "role", "aria-label"}
MOST_MS = 4_000


def draw(page: Page, text: str) -> str:
    drawn: str = page.evaluate(DRAW, text)
    return drawn


def test_markdown_is_drawn_as_it_is_meant(page: Page) -> None:
    """W1."""
    page.goto("/")

    assert {text: draw(page, text) for text in DRAWN} == DRAWN


def test_tables_and_tasks_are_drawn(page: Page) -> None:
    """W1: by GitHub's rules."""
    page.goto("/")

    table = draw(page, "| a | b |\n|---|--:|\n| `c\\|d` | e | f |\n| g |")
    tasks = draw(page, "- [x] done\n- [ ] to do")

    assert "<thead><tr><th>a</th>" in table
    assert '<tr><td><code>c|d</code></td><td class="to-the-right">e</td></tr><tr><td>g</td></tr>' in table
    assert tasks.count('type="checkbox"') == 2
    assert tasks.count("checked") == 1


def test_hostile_markdown_is_text(page: Page, engine: EngineProgram) -> None:
    """W2: no dialog, no script, and no request leaves; the watch over every page sees to that."""
    page.goto("/#/notes/new")
    page.get_by_label("Text", exact=True).fill("\n\n".join(HOSTILE))
    preview = page.get_by_label("Preview", exact=True)

    expect(preview).to_contain_text("<script>alert(1)</script>")
    expect(preview.locator("script, img, iframe, style, base, meta, form, object, embed")).to_have_count(0)
    assert _attributes(page) <= HARMLESS_ATTRIBUTES
    assert {address.partition("//")[0] for address in _addresses(page)} == {"https:"}


def test_a_hostile_note_is_read_and_compared_safely(page: Page, engine: EngineProgram) -> None:
    """W2: title, tags and text of a note that somebody else wrote."""
    payload = "<img src=x onerror=alert(1)>"
    note = add_note(engine, "\n\n".join(HOSTILE), title=payload, tags=[payload])

    page.goto(f"/#/notes/{note}/edit")
    expect(page.get_by_label("Preview", exact=True)).to_contain_text("<script>alert(1)</script>")
    expect(page.get_by_role("button", name=f"Remove {payload}")).to_be_visible()

    page.goto(f"/#/notes/{note}/history")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"History of {payload}")
    expect(page.get_by_label("Differences")).to_contain_text("<script>alert(1)</script>")

    page.goto(f"/#/documents/{note}")
    expect(page.get_by_role("heading", level=1)).to_contain_text(payload)


def test_no_text_holds_the_page_up(page: Page) -> None:
    """W1: 100,000 characters of what other programs choke on. A few tenths of a second, where nothing else runs."""
    page.goto("/")
    texts = [(piece * 100_000)[:100_000] for piece in TIRING]
    texts.append("\n".join(" " * depth + "- a" for depth in range(440)))
    texts.append("*a" * 25_000 + "b" + "a*" * 25_000)
    texts.append("|a" * 12_500 + "\n" + "|-" * 12_500 + "\n" + "x\n" * 25_000)

    took_ms = {text[:20]: page.evaluate(TIMED, text) for text in texts}

    assert max(took_ms.values()) < MOST_MS, took_ms


def _attributes(page: Page) -> set[str]:
    return set(_in_preview(page, "(element) => element.getAttributeNames()"))


def _addresses(page: Page) -> list[str]:
    found: list[str] = _in_preview(page, "(element) => element.matches('a') ? [element.href] : []")
    return found


def _in_preview(page: Page, read: str) -> Any:  # Any: JSON
    outside_drawings = "[...preview.querySelectorAll('*')].filter((element) => !element.closest('svg'))"
    return page.get_by_label("Preview", exact=True).evaluate(f"(preview) => {outside_drawings}.flatMap({read})")
