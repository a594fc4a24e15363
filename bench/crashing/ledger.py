"""What a killed process acknowledged, and what may therefore be in its store."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Key = tuple[str, str]
States = set[int | None]


@dataclass(slots=True)
class Ledger:
    """States that each document may be in: a version, or None for gone. More than one only while nothing was said."""

    documents: dict[Key, States] = field(default_factory=dict)
    collections: dict[str, set[bool]] = field(default_factory=lambda: {"default": {True}})
    copies: list[Path] = field(default_factory=list)
    steps: dict[str, dict[Key, int | None]] = field(default_factory=dict)
    """Steps on their way: the states that each brings its documents to, all or none of them."""
    acknowledged: int = 0
    next_number: int = 0

    def hear(self, line: str) -> None:
        """Takes one line in; lines that say nothing of the store are passed over."""
        word, *rest = line.split()
        if word in ("putting", "put"):
            self._put(word == "put", (rest[0], rest[1]), int(rest[2]))
        elif word in ("deleting", "deleted"):
            self._put(word == "deleted", (rest[0], rest[1]), None)
        elif word in ("creating", "created", "dropping", "dropped"):
            self._collection(word, rest[0])
        elif word == "step":
            self._step(rest[0], rest[1], rest[2:])
        elif word == "stepped":
            self.documents |= {key: {state} for key, state in self.steps.pop(rest[0]).items()}
            self.acknowledged += 1
        elif word == "copied":
            self.copies.append(Path(rest[0]))

    def living(self, collection: str) -> int:
        """Documents of a collection, once each is in one state alone."""
        return sum(states != {None} for (of, _), states in self.documents.items() if of == collection)

    def unsure(self) -> Iterator[Key]:
        """Documents that may be in several states."""
        return (key for key, states in self.documents.items() if len(states) > 1)

    def _put(self, done: bool, key: Key, state: int | None) -> None:
        self._number(key[1])
        if done:
            self.documents[key] = {state}
            self.acknowledged += 1
        else:
            self.documents.setdefault(key, {None}).add(state)

    def _step(self, name: str, collection: str, said: list[str]) -> None:
        pairs = (one.split("=") for one in said)
        states = {(collection, of): None if state == "gone" else int(state) for of, state in pairs}
        self.steps[name] = states
        for key, state in states.items():
            self._number(key[1])
            self.documents.setdefault(key, {None}).add(state)

    def _collection(self, word: str, name: str) -> None:
        self._number(name)
        there = word in ("creating", "created")
        done = word in ("created", "dropped")
        self.acknowledged += done
        self.collections[name] = {there} if done else {True, False}
        if not there:
            for key, states in self.documents.items():
                if key[0] == name:
                    self.documents[key] = {None} if done else states | {None}

    def _number(self, name: str) -> None:
        self.next_number = max(self.next_number, int(name.partition("/")[0][1:]) + 1)
