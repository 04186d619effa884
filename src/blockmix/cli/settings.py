"""Settings of samplers on the command line: `--set NAME=VALUE`, and `blockmix samplers` that lists them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from blockmix.errors import InputError


def parse_settings(sampler: str, kind: str, given: list[str]) -> dict[str, Any]:
    """Return the settings by name, each of the type that the sampler's default has."""
    from blockmix.samplers import sampler_class

    defaults = _values(sampler_class(sampler, kind).Options())
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


def _values(options: Any) -> dict[str, Any]:
    """Return the settings of an options object by name; one that was left out has the value that its form gives it."""
    return {field.name: getattr(options, field.name) for field in fields(options)}


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
            settings = sampler_class(name, kind).Options
            defaults, printed = _values(settings()), {}
            if defaults.get("form") == "corrected":
                printed = _values(settings(form="paper"))
            for setting, value in defaults.items():
                other = printed.get(setting, value)
                console.print(
                    f"    {setting} = {value}" + (f"  (form=paper: {other})" if other != value else "")
                )
    console.print("\nChoose one with --sampler NAME, and change a setting with --set NAME=VALUE.")
