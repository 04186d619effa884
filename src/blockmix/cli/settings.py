"""Settings of samplers on the command line: `--set NAME=VALUE`, and `blockmix samplers` that lists them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from blockmix.errors import InputError


def parse_settings(sampler: str, kind: str, given: list[str]) -> dict[str, Any]:
    """Return the settings by name, each of the type that the sampler's default has."""
    from blockmix.samplers import sampler_class

    defaults = {field.name: field.default for field in fields(sampler_class(sampler, kind).Options)}
    found: dict[str, Any] = {}
    for item in given:
        name, equals, text = item.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise InputError(f"--set {item}: give a name and a value, as in --set {next(iter(defaults))}=...")
        if name not in defaults:
            raise InputError(f"--set {item}: {sampler} has no setting {name!r}; it has {', '.join(defaults)}")
        found[name] = _value(item, text.strip(), defaults[name])
    return found


def _value(item: str, text: str, default: Any) -> Any:
    """Return the text as the type of the default."""
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise InputError(f"--set {item}: give true or false")
        return text.lower() == "true"
    if isinstance(default, str):
        return text
    try:
        return int(text) if isinstance(default, int) else float(text)
    except ValueError:
        kind = "whole number" if isinstance(default, int) else "number"
        raise InputError(f"--set {item}: {text!r} is not a {kind}") from None


def samplers() -> None:
    """List the samplers, what each is for, and what can be set on it.

    \b
      blockmix samplers
      blockmix fit edges.txt --sampler svi --set pairs=factors
    """
    from rich.console import Console

    from blockmix.samplers import SAMPLERS, sampler_class

    console = Console(highlight=False)
    for kind, entries in SAMPLERS.items():
        for name, entry in entries.items():
            of = "" if kind == "assortative" else f" --model {kind}"
            console.print(f"[bold]{name}[/bold]{of}: {entry.title}")
            for field in fields(sampler_class(name, kind).Options):
                console.print(f"    {field.name} = {field.default}")
    console.print("\nChoose one with --sampler NAME, and change a setting with --set NAME=VALUE.")
