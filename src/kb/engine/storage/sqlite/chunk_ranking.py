"""The chunks that score highest by their words, however common the words are.

Three ways, by what there is to rank (`word_plan` says how much that is):

1. FTS5 ranks all chunks with any of the words that the plan ranks by. The other words add what they are worth.
2. If these are too many, because even the rarest word is common or because the scope leaves most of them out, the most
   promising are picked by their bits first: those with all words, then those with all but the most common, and so on;
   of equals those with the rarest word in their title, then the newest. FTS5 ranks what was picked.
3. A list that is still shorter than the limit is filled up by the words that only add, in the same manner: whoever is
   given a short list takes it for all there is.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from kb.engine.model import Ids, Mask, Scope, Scores
from kb.engine.storage.sqlite.chunk_places import AllowedChunks
from kb.engine.storage.sqlite.match_expression import build_match_expression, expression_of, quote
from kb.engine.storage.sqlite.word_index import Words, read_ids
from kb.engine.storage.sqlite.word_plan import RANKED_IN_FULL, WordPlan, budget_of, plan_words
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.storage.words.counting import CountedPhrase
from kb.engine.storage.words.phrases import MOST_COMBINED, Phrase, find_excluded
from kb.engine.storage.words.scores import TITLE_WEIGHT

COLUMN_WEIGHTS = f"{TITLE_WEIGHT}, 1.0, 1.0"
# So many times its budget may be exceeded by the rarest word alone; beyond that its chunks are picked first.
TOLERANCE = 2
# And so many times by walking past its chunks; beyond that FTS5 is not asked to rank what was picked.
TOLERANCE_OF_WALKING = 4
# So many more of the best are asked for than would be allowed on average.
SPARE_SHARE = 1.5


@dataclass(frozen=True)
class RankedChunks:
    """In no order."""

    ids: Ids
    scores: Scores
    added: Sequence[CountedPhrase] = ()
    """The phrases that only added to the scores."""

    def best(self, limit: int) -> "RankedChunks":
        order = np.lexsort((self.ids, -self.scores))[:limit]
        return RankedChunks(self.ids[order], self.scores[order], self.added)


def rank_chunks(
    words: Words, phrases: Sequence[CountedPhrase], scope: Scope, allowed: AllowedChunks | None, *, limit: int
) -> RankedChunks:
    """The best of the allowed chunks, best first, equal ones by id."""
    return _Ranking(words, phrases, scope, allowed, limit).run()


@dataclass(frozen=True)
class _Ranking:
    words: Words
    phrases: Sequence[CountedPhrase]
    scope: Scope
    allowed: AllowedChunks | None
    limit: int

    def run(self) -> RankedChunks:
        plan = self._plan(self._share)
        budget = budget_of(self.words.planned_row_count)
        if self._are_scattered(plan) or plan.cost > max(RANKED_IN_FULL, TOLERANCE * budget):
            # These were chosen with care, so half as many will do.
            return self._rank_picked(max(int(budget) // 2, 2 * self.limit))
        found = self._add(self._rank(plan), plan).best(self.limit)
        return self._fill_up(found, plan.adding) if len(found.ids) < self.limit else found

    @property
    def _share(self) -> float:
        """The share of all chunks that can be ranked at all."""
        bounds = [phrase.chunks for phrase in self.phrases if phrase.phrase.is_required]
        if self.allowed is not None and self.allowed.are_few:
            bounds.append(self.allowed.count)
        return min(bounds, default=self.words.row_count) / max(self.words.row_count, 1)

    def _are_scattered(self, plan: WordPlan) -> bool:
        """Whether too few of the chunks that would be ranked are allowed."""
        if self.allowed is None or self.allowed.are_few or not plan.adding:
            return False
        return plan.cost * self.allowed.count < 2 * self.limit * self.words.row_count

    def _plan(self, share: float) -> WordPlan:
        return plan_words(self.phrases, row_count=self.words.planned_row_count, share=share)

    def _rank(self, plan: WordPlan) -> RankedChunks:
        if self.allowed is None:
            return self._ask(plan.ranking, limit=None if plan.adding else self.limit)
        if self.allowed.are_few:
            return self._ask(plan.ranking, among=self.allowed.ids)
        if not plan.adding:
            # Among so many of the best there should be enough that are allowed.
            likely = int(SPARE_SHARE * self.limit * self.words.row_count / max(self.allowed.count, 1))
            best = self._ask(plan.ranking, limit=likely)
            allowed = self._keep_allowed(best)
            if len(allowed.ids) >= self.limit or len(best.ids) < likely:
                return allowed
        return self._keep_allowed(self._ask(plan.ranking))

    def _keep_allowed(self, ranked: RankedChunks) -> RankedChunks:
        if self.allowed is None:
            return ranked
        is_allowed = self.allowed.contain(ranked.ids)
        return RankedChunks(ranked.ids[is_allowed], ranked.scores[is_allowed])

    def _ask(
        self, phrases: Sequence[CountedPhrase], *, among: Ids | None = None, limit: int | None = None
    ) -> RankedChunks:
        """What FTS5 finds and how it scores it."""
        expression = build_match_expression([counted.phrase for counted in phrases], self.scope)
        # The + keeps SQLite from asking FTS5 for each of these chunks in turn (300 times slower when they are many).
        is_among = "" if among is None else "AND +rowid IN (SELECT value FROM json_each(?))"
        # Ordered by bm25() itself, since ORDER BY rank would sort all matches before the limit.
        cut = "" if limit is None else "ORDER BY score DESC, rowid LIMIT ?"
        values = [None if among is None else json.dumps(among.tolist()), limit]
        found = fetch_all(
            self.words.db,
            f"SELECT rowid, -bm25(chunks_fts, {COLUMN_WEIGHTS}) AS score FROM chunks_fts "
            f"WHERE chunks_fts MATCH ? {is_among} {cut}",
            (expression, *(value for value in values if value is not None)),
        )
        # Ids are exact as floats up to 2**53.
        columns = np.fromiter(chain.from_iterable(found), np.float64, 2 * len(found)).reshape(-1, 2)
        return RankedChunks(columns[:, 0].astype(np.int64), columns[:, 1])

    def _add(self, ranked: RankedChunks, plan: WordPlan) -> RankedChunks:
        """What was ranked, with what the other words of the plan add.

        All chunks with a word are read when it is met for the second time. The first time FTS5 is asked for those among
        the ranked ones only, which it finds in a fifth of the time by leaping from one to the next.
        """
        is_due = {counted: self.words.are_rows_due(expression_of(counted.phrase)) for counted in set(plan.adding)}
        scores = ranked.scores.copy()
        gate = build_match_expression([counted.phrase for counted in plan.ranking], self.scope)
        for counted in (counted for counted in plan.adding if not is_due[counted]):
            expression = f"({gate}) AND {expression_of(counted.phrase)}"
            scores[np.isin(ranked.ids, read_ids(self.words.db, expression))] += counted.worth
        added = self._add_worth(RankedChunks(ranked.ids, scores), [c for c in plan.adding if is_due[c]])
        return replace(added, added=plan.adding)

    def _add_worth(self, ranked: RankedChunks, phrases: Sequence[CountedPhrase]) -> RankedChunks:
        scores = ranked.scores.copy()
        for counted in phrases:
            scores[self._table_of(expression_of(counted.phrase))[ranked.ids]] += counted.worth
        return RankedChunks(ranked.ids, scores, phrases)

    def _rank_picked(self, wanted: int) -> RankedChunks:
        """The second way. FTS5 now walks past most chunks, so there may be more words that it ranks by."""
        picked = np.sort(self._pick(self.phrases, wanted))
        plan = self._plan(0.0)
        scores = np.zeros(len(picked))
        if plan.cost <= TOLERANCE_OF_WALKING * budget_of(self.words.planned_row_count):
            ranked = self._ask(plan.ranking, among=picked)
            scores[np.searchsorted(picked, ranked.ids)] = ranked.scores
            rest = plan.adding
        else:
            rest = [*plan.ranking, *plan.adding]
        return self._add_worth(RankedChunks(picked, scores), rest).best(self.limit)

    def _fill_up(self, found: RankedChunks, phrases: Sequence[CountedPhrase]) -> RankedChunks:
        if not phrases:
            return found
        picked = self._pick(phrases, 2 * self.limit + len(found.ids))
        others = picked[~np.isin(picked, found.ids)]
        filling = self._add_worth(RankedChunks(others, np.zeros(len(others))), phrases)
        ids = np.concatenate([found.ids, filling.ids])
        return RankedChunks(ids, np.concatenate([found.scores, filling.scores]), phrases).best(self.limit)

    def _pick(self, phrases: Sequence[CountedPhrase], wanted: int) -> Ids:
        """The most promising chunks that the scope allows and that have any of the phrases."""
        # Of what is known of words, one chunk in a hundred may be gone.
        to_find = wanted + self.words.lost_chunks
        within = np.flatnonzero(self._is_within())
        is_left = np.ones(len(within), np.bool_)
        picked: list[Ids] = []
        for has_all, rarest in self._levels([counted for counted in phrases if counted.chunks > 0], within):
            places = np.flatnonzero(has_all & is_left)
            is_left[places] = False
            ids = within[places]
            if len(ids) > to_find:
                ids = self._prefer_titles(ids, rarest)[:to_find]
            picked.append(ids)
            to_find -= len(ids)
            if to_find == 0:
                break
        return self._find_living(np.concatenate(picked))[:wanted] if picked else np.zeros(0, np.int64)

    def _find_living(self, ids: Ids) -> Ids:
        if not self.words.lost_chunks:
            return ids
        found = fetch_all(
            self.words.db,
            "SELECT id FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids.tolist()),),
        )
        return ids[np.isin(ids, np.array(found, np.int64))]

    def _levels(self, phrases: Sequence[CountedPhrase], within: Ids) -> Iterator[tuple[Mask, Phrase]]:
        """Which of these chunks have ever less of what is sought, each time with the rarest phrase that they have."""
        rarest_first = sorted(phrases, key=lambda counted: counted.chunks)
        tables = [self._table_of(expression_of(counted.phrase))[within] for counted in rarest_first]
        for first, counted in enumerate(rarest_first):
            for beyond in range(min(len(tables), MOST_COMBINED), first + 1, -1):
                yield np.logical_and.reduce(tables[first:beyond]), counted.phrase
            yield tables[first], counted.phrase

    def _is_within(self) -> Mask:
        """Which chunks the scope allows and have anything that is sought at all."""
        is_within = np.zeros(self.words.last_chunk + 1, np.bool_)
        for counted in self.phrases:
            if counted.chunks > 0:
                is_within |= self._table_of(expression_of(counted.phrase))
        if self.allowed is not None:
            is_within &= self.allowed.table(len(is_within))
        for counted in self.phrases:
            if counted.phrase.is_required:
                is_within &= self._table_of(expression_of(counted.phrase))
        for excluded in find_excluded(self.scope):
            is_within &= ~self._table_of(quote(excluded))
        return is_within

    def _table_of(self, expression: str) -> Mask:
        return self.words.rows(expression).table()[: self.words.last_chunk + 1]

    def _prefer_titles(self, ids: Ids, phrase: Phrase) -> Ids:
        """Those with it in their title first, then the newest."""
        is_in_title = self._table_of(f"title : {expression_of(phrase)}")[ids]
        return ids[np.lexsort((-ids, ~is_in_title))]
