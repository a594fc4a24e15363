"""A run as one HTML page without other files: figures with their certainty, then the cases, the worst first."""

import re
from collections.abc import Mapping, Sequence
from html import escape

from citemesh.evaluation.certainty import Difference, Figure
from citemesh.evaluation.measures import ABOUT, QUALITY
from citemesh.evaluation.record import Case, EvaluationRecord

MOST_CASES = 500
STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
:root { --good: #0f766e; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --good: #5eead4; --bad: #ff9c9c; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1, .text, summary, li { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem 0 .35rem 1rem; border-top: 1px solid var(--line); vertical-align: top; }
th:first-child { padding-left: 0; min-width: 9rem; }
thead th { border-top: 0; font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
meter { width: 7rem; height: .8rem; }
details { border: 1px solid var(--line); border-radius: .6rem; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; padding: .3rem 0; }
.better { color: var(--good); } .worse { color: var(--bad); }
.better::before { content: "✓ "; } .worse::before { content: "✗ "; }
.text { white-space: pre-wrap; }
.soft { opacity: .75; font-size: .9rem; font-weight: 400; }
.soft b { font-weight: 600; }
.piece { white-space: nowrap; margin-right: .9rem; }
@media (max-width: 36rem) { .bar { display: none; } th, td { padding-left: .6rem; } }
"""
SMALL_MODEL_NOTE = (
    "{name} is a model of {size} million parameters, and its answers are weak; answer match, answer f1 and supported "
    "say how weak. Evidence recall is the search's, citation precision the check's; neither needs a large model."
)
SMALL_MODEL = 1000
"""Millions of parameters below which the page warns of weak answers."""
_LESS_IS_BETTER = ("_s", "_tokens", "searches")


def page(record: EvaluationRecord, differences: Mapping[str, Difference], against: str = "") -> str:
    """Returns the page of a run. No question, answer or title can become markup.

    Args:
        differences: how the run differs from an earlier one, by measure; empty where it is compared with none.
        against: the name of the earlier run.
    """
    cases = sorted(record.cases, key=badness)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"content-security-policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(record.name)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(record.name)}</h1>{_settings(record)}{_figures(record)}"
        f"{_differences(differences, against) if differences else ''}"
        f"<h2>Cases, the worst first</h2>{''.join(map(_case, cases[:MOST_CASES]))}{_left_out(len(cases))}</body></html>"
    )


def label(measure: str) -> str:
    """Returns a measure's name for people."""
    return measure.removesuffix("_s").replace("_", " ")


def amount(measure: str, value: float, sign: str = "") -> str:
    """Returns a value with the digits that it needs, and its unit."""
    if measure.endswith("_s"):
        return f"{value:{sign}.2f} s"
    return f"{value:{sign}.3f}" if measure in QUALITY else f"{value:{sign}.1f}"


def small_model_note(models: Sequence[str]) -> str:
    """Returns a note on the answers of a small model; empty where no model's name says that it is small."""
    for name in models:
        size = re.search(r"(?<![\w.])(\d{1,3})M(?!\w)", name)
        if size and int(size[1]) < SMALL_MODEL:
            return SMALL_MODEL_NOTE.format(name=name, size=size[1])
    return ""


def badness(case: Case) -> float:
    """Returns what cases are sorted by: the mean of a case's measures of quality, or -1 for an error."""
    if case.error:
        return -1.0
    values = [case.measures[name] for name in QUALITY if name in case.measures]
    return sum(values) / len(values) if values else 0.0


def _settings(record: EvaluationRecord) -> str:
    settings = [f"{len(record.cases)} questions"]
    settings += [f"{label(name)}: {value}" for name, value in record.asked_with.items() if value]
    settings += [f"written by {', '.join(record.models())}"] if record.models() else []
    note = small_model_note(record.models())
    return f'<p class="soft">{escape(" · ".join(settings))}</p>' + (f"<p>{escape(note)}</p>" if note else "")


def _figures(record: EvaluationRecord) -> str:
    rows = [_figure_row(name, figure) for name, figure in record.figures().items()]
    head = "<th>measure</th><th class=bar></th>" + _heads("mean", "95 % interval", "questions")
    return f"<h2>Figures</h2>{_table(head, rows)}"


def _figure_row(name: str, figure: Figure) -> str:
    bar = f'<meter min="0" max="1" value="{figure.mean:.3f}">{figure.mean:.2f}</meter>' if name in QUALITY else ""
    return (
        f'<tr><th scope=row>{label(name)}<br><span class="soft">{ABOUT[name]}</span></th><td class=bar>{bar}</td>'
        f"<td class=number>{amount(name, figure.mean)}</td>"
        f"<td class=number>{amount(name, figure.low)} to {amount(name, figure.high)}</td>"
        f"<td class=number>{figure.questions}</td></tr>"
    )


def _differences(differences: Mapping[str, Difference], against: str) -> str:
    rows = [_difference_row(name, difference) for name, difference in differences.items()]
    head = "<th>measure</th>" + _heads("this run less that", "95 % interval", "p", "questions")
    note = "✓ better and ✗ worse stand where chance alone would give such a difference less than once in twenty."
    return f'<h2>Against {escape(against)}</h2>{_table(head, rows)}<p class="soft">{note}</p>'


def _difference_row(name: str, difference: Difference) -> str:
    return (
        f"<tr><th scope=row>{label(name)}</th>"
        f'<td class="number {_verdict(name, difference)}">{amount(name, difference.mean, "+")}</td>'
        f"<td class=number>{amount(name, difference.low, '+')} to {amount(name, difference.high, '+')}</td>"
        f"<td class=number>{difference.p:.3f}</td><td class=number>{difference.questions}</td></tr>"
    )


def _heads(*names: str) -> str:
    return "".join(f"<th class=number>{name}</th>" for name in names)


def _table(head: str, rows: Sequence[str]) -> str:
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _verdict(name: str, difference: Difference) -> str:
    """Returns better or worse; empty where chance alone gives such a difference once in twenty or more."""
    if difference.p >= 0.05 or not difference.mean:
        return ""
    good = (difference.mean < 0) == name.endswith(_LESS_IS_BETTER)
    return "better" if good else "worse"


def _case(case: Case) -> str:
    sources = "".join(f"<li>{escape(source)}</li>" for source in case.sources)
    return (
        f"<details><summary>{escape(case.question)}<br>"
        f'<span class="soft"><span class="piece">{escape(case.id)} ·</span> {_case_measures(case)}</span></summary>'
        + _line("worse", case.error)
        + (f'<p class="text">{escape(case.answer)}</p>' if case.answer else "")
        + _line("soft", case.notice)
        + _line("", " | ".join(case.right), "Right")
        + _line("", " | ".join(case.missing), "Evidence that was not found")
        + (_line("", f"{case.unsupported} of {case.sentences} sentences", "Unsupported") if case.unsupported else "")
        + f"<ul>{sources}</ul></details>"
    )


def _case_measures(case: Case) -> str:
    """Returns a case's measures of quality; that it was answered is said only where nothing else was measured."""
    if case.error:
        return "not answered"
    names = [name for name in QUALITY if name in case.measures and name != "answered"]
    pieces = [f'<span class="piece">{label(name)} <b>{case.measures[name]:.2f}</b></span>' for name in names]
    return " ".join(pieces) or "answered"


def _line(kind: str, text: str, heading: str = "") -> str:
    """Returns a paragraph, or nothing for an empty text."""
    content = f"<b>{heading}:</b> {escape(text)}" if heading else escape(text)
    return f'<p class="text {kind}">{content}</p>' if text else ""


def _left_out(cases: int) -> str:
    return f"<p>{cases - MOST_CASES} better cases are left out.</p>" if cases > MOST_CASES else ""
