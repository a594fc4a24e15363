"""A small bar chart as SVG, drawn by hand so that it needs nothing."""

from collections.abc import Mapping
from html import escape

COLOURS = ("#9aa5b1", "#627d98", "#3e8ed0", "#2bb3a3", "#e8833a")
_WIDTH, _HEIGHT, _LEFT, _TOP, _BAR, _GAP = 860, 300, 44, 40, 22, 30


def bars(title: str, groups: Mapping[str, Mapping[str, tuple[float, float, float]]], least: float) -> str:
    """Groups of bars from `least` to 1, each (value, low, high of its interval).

    The axis begins at `least`, which the chart says.
    """
    names = list(next(iter(groups.values())))
    width = max(_WIDTH, _LEFT + len(groups) * (len(names) * _BAR + _GAP) + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT + 60}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{_HEIGHT + 60}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)} (axis from {least:g})</text>',
    ]
    parts += [_line(value, least, width) for value in _ticks(least)]
    at = _LEFT + _GAP / 2
    for group, values in groups.items():
        for number, name in enumerate(names):
            if name in values:
                parts.append(_bar(at + number * _BAR, values[name], least, COLOURS[number % len(COLOURS)]))
        middle = at + len(names) * _BAR / 2
        parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT + 18}" text-anchor="middle">{escape(group)}</text>')
        at += len(names) * _BAR + _GAP
    for number, name in enumerate(names):
        x = _LEFT + 160 * number
        parts.append(
            f'<rect x="{x}" y="{_HEIGHT + 32}" width="12" height="12" fill="{COLOURS[number % len(COLOURS)]}"/>'
        )
        parts.append(f'<text x="{x + 18}" y="{_HEIGHT + 42}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _ticks(least: float) -> list[float]:
    return [least + (1 - least) * step / 4 for step in range(5)]


def _y(value: float, least: float) -> float:
    share = min(1.0, max(0.0, (value - least) / (1 - least)))
    return _HEIGHT - share * (_HEIGHT - _TOP)


def _line(value: float, least: float, width: int) -> str:
    y = _y(value, least)
    return (
        f'<line x1="{_LEFT}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e7eb"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#52606d">{value:.2f}</text>'
    )


def _bar(x: float, measured: tuple[float, float, float], least: float, colour: str) -> str:
    value, low, high = measured
    label = f"{value:.2f}".lstrip("0")
    middle, y, top, bottom = x + _BAR / 2 - 1, _y(value, least), _y(high, least), _y(low, least)
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BAR - 2}" height="{_HEIGHT - y:.1f}" fill="{colour}"/>'
        f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{bottom:.1f}" y2="{top:.1f}" stroke="#1f2933"/>'
        f'<text x="{middle:.1f}" y="{top - 4:.1f}" text-anchor="middle" font-size="9">{label}</text>'
    )
