# SPDX-License-Identifier: Apache-2.0
"""From examples with variations to cases."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator

from halyard.cases import assembly, variants
from halyard.cases.assembly import VERSIONS, Terms
from halyard.cases.case import Case
from halyard.cases.names import joined
from halyard.proto import halyard_pb2 as pb
from halyard.specs.converters import (
    AllInputsAsInternalConverter,
    AllTensorsAsInputsConverter,
    DefaultVariation,
    LifetimeConverter,
    ModelVariation,
)
from halyard.specs.example import Example, Feed
from halyard.specs.model import Model
from halyard.specs.session import Session, SpecError

_Choice = tuple[ModelVariation, ...]


def cases(session: Session, spec: str) -> Iterator[Case]:
    """The cases of all examples of a session, named and ordered like the official tests.

    One whose version no pb.HalVersion can say is left out; one that is of no version has
    HAL_VERSION_UNSPECIFIED."""
    for example in _merged(session.of(Example)):
        try:
            yield from _Expansion(session, spec, example).run()
        except SpecError as error:
            error.line = error.line or example.line
            raise


def _merged(examples: Iterable[Example]) -> list[Example]:
    """Examples that differ in nothing but their feeds are one."""
    merged: dict[object, Example] = {}
    for example in examples:
        groups = tuple(tuple(group) for group in example.groups)
        first = merged.setdefault((example.model, example.name, groups), example)
        if first is not example:
            first.feeds.extend(example.feeds)
    return list(merged.values())


class _Expansion:
    """Of one example."""

    def __init__(self, session: Session, spec: str, example: Example) -> None:
        self._session = session
        self._spec = spec
        self._example = example
        self._groups = [*example.groups]
        derivable = example.derives_lifetimes and not example.multinomial_tolerance
        if derivable and len(example.model.operations) == 1:
            for converter in (AllTensorsAsInputsConverter, AllInputsAsInternalConverter):
                self._groups.append([DefaultVariation(""), converter()])

    def run(self) -> Iterator[Case]:
        for feed in self._example.feeds:
            yield from self._fed(feed).values()

    def _fed(self, feed: Feed) -> dict[_Choice, Case]:
        """The cases of a feed. Forms with other lifetimes are listed in the case they stem from."""
        found: dict[_Choice, Case] = {}
        for choice in itertools.product(*self._groups):
            lifetimes = tuple(
                each.CANONICAL for each in choice if isinstance(each, LifetimeConverter)
            )
            if not lifetimes:
                case = self._case(feed, choice, self._name(choice))
                if case is not None:
                    found[_origin(choice)] = case
                continue
            case = found.get(_origin(choice))
            if case is not None:
                if variants.with_lifetimes(case, lifetimes) is not None:
                    found[_origin(choice)] = dataclasses.replace(
                        case,
                        lifetime_variants=(*case.lifetime_variants, lifetimes),
                        lifetime_names=(*case.lifetime_names, self._name(choice)),
                    )
                continue
            # The spec wants the form, and not the case that it stems from.
            case = self._case(feed, choice, "")
            derived = None if case is None else variants.with_lifetimes(case, lifetimes)
            if derived is not None:
                found[choice] = variants.renamed(derived, self._name(choice))
        return found

    def _name(self, choice: _Choice) -> str:
        names = [each.default_name() if each.name is None else each.name for each in choice]
        stem = joined(self._session.spec, self._example.model.name, self._example.name, *names)
        return self._session.test_names.unique(stem)

    def _case(self, feed: Feed, choice: _Choice, name: str) -> Case | None:
        """None if no HAL version carries it that a pb.HalVersion can say."""
        example = self._example
        version = self._version(name)
        if version is None:
            return None
        model = example.model.copied()
        model.feed(*feed)
        for variation in choice:
            variation.apply(model)
        if model.isRelaxed and version == pb.HAL_VERSION_1_0:
            # Officially it has no version then; the flag came with this one.
            version = pb.HAL_VERSION_1_1
        subgraphs = model.subgraphs()
        failure = example.expects_failure
        main, *referenced = subgraphs
        terms = Terms(
            name=name,
            spec=self._spec,
            hal_version=version,
            expect_failure=failure,
            relaxed=model.isRelaxed,
            tags=_tags(model, failure) | assembly.tags(subgraphs),
            multinomial_tolerance=example.multinomial_tolerance,
        )
        bounds = {} if failure else assembly.tolerances(name, model.isRelaxed, subgraphs)
        case = assembly.assemble(terms, main, referenced, bounds)
        shapes_known = not example.derives_unspecified_outputs
        return dataclasses.replace(case, shapes_must_be_known=shapes_known)

    def _version(self, name: str) -> pb.HalVersion | None:
        """The version that the spec or its folder names. Where a spec rules it out (None), that of
        the folder is one that surely carries the case."""
        session = self._session
        version = session.versions.get(name, self._example.model.version) or session.version
        if version is None:
            return pb.HAL_VERSION_UNSPECIFIED
        if version not in VERSIONS and not re.fullmatch(r"AIDL_V\d+", version):
            raise SpecError(f"no HAL version {version!r}")
        return VERSIONS.get(version)


def _origin(choice: _Choice) -> _Choice:
    """The choice with other lifetimes, or none, taken out of it."""
    return tuple(
        _NONE if isinstance(each, LifetimeConverter | DefaultVariation) else each for each in choice
    )


_NONE = DefaultVariation()


def _tags(model: Model, failure: bool) -> frozenset[str]:
    # The only failure that a loop can be meant to have.
    endless = failure and any(each.type == "WHILE" for each in model.operations)
    return frozenset({"infiniteLoop"} if endless else ())
