"""What axe-core finds in a page as it is now."""

from typing import Any

from playwright.sync_api import Page
from tests.node_tools import AXE, require_node_tools

GRAVE = ("serious", "critical")
# Colours half-way through a change say nothing, so every change has to end. What turns for ever is not waited for.
EXAMINE = """(async () => {
  const isEnding = (motion) => motion.playState === "running" && motion.effect?.getComputedTiming().endTime < Infinity;
  await Promise.allSettled(document.getAnimations().filter(isEnding).map((motion) => motion.finished));
  return (await axe.run(document, { resultTypes: ["violations"] })).violations;
})()"""


def check_accessibility(page: Page) -> None:
    """Fails with a list if anything is found that axe-core calls serious or critical."""
    grave = [violation for violation in find_violations(page) if violation["impact"] in GRAVE]
    assert not grave, "\n".join([f"{page.url} shuts people out:", *map(describe, grave)])


def find_violations(page: Page) -> list[dict[str, Any]]:  # Any: JSON
    require_node_tools()
    session = page.context.new_cdp_session(page)
    try:
        # Through the developer tools, for which the page's policy does not hold.
        _evaluate(session.send, AXE.read_text(encoding="utf-8") + ";undefined")
        violations: list[dict[str, Any]] = _evaluate(session.send, EXAMINE)
        return violations
    finally:
        session.detach()


def _evaluate(send: Any, expression: str) -> Any:
    answer = send("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
    assert "exceptionDetails" not in answer, answer["exceptionDetails"]
    return answer["result"].get("value")


def describe(violation: dict[str, Any]) -> str:
    """One line for the rule, and two for each element that breaks it."""
    lines = [f"- {violation['id']} ({violation['impact']}): {violation['help']}"]
    for node in violation["nodes"]:
        lines.append(f"    {' '.join(map(str, node['target']))}    {node['html'][:200]}")
        lines.append(f"      {' '.join(node['failureSummary'].split())}")
    return "\n".join(lines)
