"""Checks that the settings of samplers share; each names the setting, what was given and what is allowed.

`take_form` gives settings that were left out the values of a form.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from blockmix.errors import InputError


def check_count(name: str, value: Any, least: int = 1, most: int = 10**9) -> None:
    """Refuse anything but a whole number in a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def check_positive(name: str, value: Any, most: float = math.inf) -> None:
    """Refuse anything but a number above 0 and at most `most`."""
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if not number or not 0 < value <= most or value == math.inf:
        limit = "" if most == math.inf else f" of at most {most:g}"
        raise InputError(f"{name} must be a positive number{limit}, not {value!r}")


def check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    """Refuse anything but one of a few words."""
    if value not in known:
        raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")


def take_form(options: Any, values: Mapping[str, Any]) -> None:
    """Give every setting of a frozen dataclass that is None the value that its form stands for."""
    for name, value in values.items():
        if getattr(options, name) is None:
            object.__setattr__(options, name, value)
