"""Agents that search, read and write by chance, and know what was acknowledged of what they wrote."""

import asyncio
import itertools
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.agents_at_work.doors import Door, EngineDoor, Stale, Tally, Unexpected

# Of 100 calls.
USUAL_MIX = {"search": 80, "read": 15, "write": 5}
ENOUGH_NOTES = 10
WORDS_OF_A_QUERY = 6
STORED_WITHIN_SECONDS = 120.0


@dataclass
class Note:
    word: str
    """In this note alone."""
    text: str
    job_id: int
    tags: set[str]
    document_id: int | None = None
    """None until its job is known to be done."""
    is_deleted: bool = False


@dataclass
class SharedNote:
    """A note that every agent rewrites, each on top of what it has read."""

    document_id: int
    version: int
    """That it must have, since each rewrite that is acknowledged adds one."""


@dataclass
class Agent:
    name: str
    door: Door
    chance: random.Random
    words: Sequence[str]
    documents: int
    """Those with the ids up to this one are there to be read, and nobody changes them."""
    tally: Tally
    shared: SharedNote
    mix: Mapping[str, int] = field(default_factory=lambda: USUAL_MIX)
    notes: list[Note] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    async def work_until(self, end: float) -> None:
        while time.monotonic() < end:
            await self.act()
        self.door.close()

    async def act(self) -> None:
        """One call, or a few that belong together; what goes wrong is counted."""
        kind = self.chance.choices(list(self.mix), list(self.mix.values()))[0]
        try:
            await {"search": self._search, "read": self._read, "write": self._write}[kind]()
        except (Unexpected, ConnectionError, EOFError, LookupError, ValueError) as error:
            self.tally.errors[str(error) or type(error).__name__] += 1

    async def _search(self) -> None:
        start = self.chance.randrange(len(self.words) - WORDS_OF_A_QUERY)
        if not await self.door.search(" ".join(self.words[start : start + WORDS_OF_A_QUERY])):
            raise Unexpected("a search that finds nothing")

    async def _read(self) -> None:
        document_id = self.chance.randint(1, self.documents)
        if self.chance.random() < 0.5:
            await self.door.get(document_id)
        else:
            await self.door.look_around(document_id, self.chance)

    async def _write(self) -> None:
        waiting = [note for note in self.notes if note.document_id is None]
        if waiting:
            waiting[0].document_id = await self.door.document_of(waiting[0].job_id)
        living = [note for note in self.notes if note.document_id is not None and not note.is_deleted]
        if not living or (len(waiting) + len(living) < ENOUGH_NOTES and self.chance.random() < 0.4):
            await self._add()
        else:
            change = self.chance.choice([self._rewrite, self._tag, self._delete, self._rewrite_shared])
            await change(self.chance.choice(living))

    async def _add(self) -> None:
        word = f"{self.name}{to_letters(next(self._numbers))}"
        text = f"{word} is a note. {self._say_something()}"
        job_id = await self.door.add(text, self.name)
        self.notes.append(Note(word, text, job_id, {self.name}))

    async def _rewrite(self, note: Note) -> None:
        text = f"{note.word} is a note that was rewritten. {self._say_something()}"
        await self.door.rewrite(_id_of(note), text, (await self.door.get(_id_of(note)))["version"])
        note.text = text

    async def _tag(self, note: Note) -> None:
        tag = f"{self.name} {len(note.tags)}"
        await self.door.tag(_id_of(note), tag)
        note.tags.add(tag)

    async def _delete(self, note: Note) -> None:
        await self.door.delete(_id_of(note))
        note.is_deleted = True

    async def _rewrite_shared(self, _: Note) -> None:
        document = await self.door.get(self.shared.document_id)
        try:
            await self.door.rewrite(self.shared.document_id, self._say_something(), document["version"])
        except Stale:
            return
        self.shared.version += 1

    def _say_something(self) -> str:
        start = self.chance.randrange(len(self.words) - 100)
        return " ".join(self.words[start : start + self.chance.choice([20, 100])])


async def wait_for_document(door: Door, job_id: int) -> int:
    """What the job has become. Raises `Unexpected` if it fails, or is not done in time."""
    deadline = time.monotonic() + STORED_WITHIN_SECONDS
    while (document_id := await door.document_of(job_id)) is None:
        if time.monotonic() > deadline:
            raise Unexpected(f"job not done after {STORED_WITHIN_SECONDS:.0f} seconds")
        await asyncio.sleep(0.02)
    return document_id


async def find_lost(door: EngineDoor, agents: Sequence[Agent], shared: SharedNote) -> list[str]:
    """What was acknowledged and is not so, a sentence each. Asked when nobody writes any more."""
    lost = []
    if (await door.get(shared.document_id))["version"] != shared.version:
        lost.append("A rewrite of the shared note was lost.")
    for note in (note for agent in agents for note in agent.notes):
        if note.document_id is None:
            try:
                note.document_id = await wait_for_document(door, note.job_id)
            except Unexpected as error:
                # Those behind it would be waited for just as long.
                return [*lost, f"{note.word} was not stored: {error}."]
    for agent in agents:
        stored = {document["id"]: document for document in await door.list_tagged(agent.name)}
        for note in agent.notes:
            is_there = note.document_id in stored and set(stored[note.document_id]["tags"]) == note.tags
            if is_there == note.is_deleted:
                lost.append(f"{note.word} is {'still' if note.is_deleted else 'not'} there.")
            elif is_there and (await door.get(_id_of(note)))["text"] != note.text:
                lost.append(f"{note.word} does not say what it should.")
            elif [hit["document_id"] for hit in await door.find_word(note.word)] != [note.document_id] * is_there:
                lost.append(f"{note.word} is not found as it should be.")
    return lost


def to_letters(number: int) -> str:
    """A number as a word, which is found by itself alone."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")


def _id_of(note: Note) -> int:
    assert note.document_id is not None
    return note.document_id
