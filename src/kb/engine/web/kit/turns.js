// Many requests, a few at a time: a thousand at once would leave none for whoever looks at the page.

const AT_ONCE = 4;

/** Call `run(item)` for each; resolves, when all are through, with {item, error} of those that failed. */
export async function inTurns(items, run) {
  const waiting = items[Symbol.iterator]();
  const failures = [];
  const work = async () => {
    for (const item of waiting) {
      try {
        await run(item);
      } catch (error) {
        failures.push({ item, error });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return failures;
}
