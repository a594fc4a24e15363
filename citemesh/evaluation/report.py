"""A run as one HTML page that needs nothing else: figures with their certainty, then the cases, the worst first."""

from collections.abc import Mapping
from html import escape

from citemesh.evaluation.certainty import Difference
from citemesh.evaluation.measures import ABOUT, QUALITY
from citemesh.evaluation.record import Case, Record

MOST_CASES = 500
STYLE = """
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent); }
:root { --good: #0f766e; --bad: #b42318; }
@media (prefers-color-scheme: dark) { :root { --good: #5eead4; --bad: #ff9c9c; } }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .6rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
meter { width: 8rem; height: .8rem; }
details { border: 1px solid var(--line); border-radius: .6rem; margin: .5rem 0; padding: .3rem .8rem; }
summary { cursor: pointer; padding: .3rem 0; overflow-wrap: anywhere; }
.better { color: var(--good); } .worse { color: var(--bad); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.soft { opacity: .75; font-size: .9rem; }
"""
_LESS_IS_BETTER = ("_s", "_tokens", "searches")


def page(record: Record, differences: Mapping[str, Difference], against: str = "") -> str:
    """The page. Nothing of a question, answer or title can become markup."""
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


def badness(case: Case) -> float:
    """What the order goes by: the mean of a case's measures of quality; errors first."""
    if case.error:
        return -1.0
    known = [case.measures[name] for name in QUALITY if name in case.measures]
    return sum(known) / len(known) if known else 0.0


def _settings(record: Record) -> str:
    told = ", ".join(f"{name}: {value}" for name, value in record.asked_with.items() if value)
    return f'<p class="soft">{len(record.cases)} questions. {escape(told)}</p>'


def _figures(record: Record) -> str:
    rows = []
    for name, one in record.figures().items():
        bar = f'<meter min="0" max="1" value="{one.mean:.3f}">{one.mean:.2f}</meter>' if name in QUALITY else ""
        rows.append(
            f"<tr><th>{name}</th><td>{bar}</td><td class=number>{one.mean:.3f}</td>"
            f"<td class=number>{one.low:.3f} to {one.high:.3f}</td><td class=number>{one.questions}</td>"
            f'<td class="soft">{ABOUT[name]}</td></tr>'
        )
    head = "<tr><th>measure</th><th></th><th>mean</th><th>95 %</th><th>questions</th><th></th></tr>"
    return f"<h2>Figures</h2><table>{head}{''.join(rows)}</table>"


def _differences(differences: Mapping[str, Difference], against: str) -> str:
    rows = [
        f'<tr><th>{name}</th><td class="number {_verdict(name, one)}">{one.mean:+.3f}</td>'
        f"<td class=number>{one.low:+.3f} to {one.high:+.3f}</td><td class=number>{one.p:.3f}</td>"
        f"<td class=number>{one.questions}</td></tr>"
        for name, one in differences.items()
    ]
    head = "<tr><th>measure</th><th>difference</th><th>95 %</th><th>p</th><th>questions</th></tr>"
    return f"<h2>Against {escape(against)}</h2><table>{head}{''.join(rows)}</table>"


def _verdict(name: str, one: Difference) -> str:
    """Better or worse where chance alone would seldom give it."""
    if one.p >= 0.05 or not one.mean:
        return ""
    good = (one.mean < 0) == name.endswith(_LESS_IS_BETTER)
    return "better" if good else "worse"


def _case(case: Case) -> str:
    told = " · ".join(f"{name} {case.measures[name]:.2f}" for name in QUALITY if name in case.measures)
    right = f"<p><b>Right:</b> {escape(' | '.join(case.right))}</p>" if case.right else ""
    error = f'<p class="worse">{escape(case.error)}</p>' if case.error else ""
    notice = f'<p class="soft">{escape(case.notice)}</p>' if case.notice else ""
    sources = "".join(f"<li>{escape(one)}</li>" for one in case.sources)
    return (
        f'<details><summary>{escape(case.question)}<br><span class="soft">{escape(case.id)} · {told}</span></summary>'
        f'{error}<p class="text">{escape(case.answer)}</p>{notice}{right}<ul>{sources}</ul></details>'
    )


def _left_out(cases: int) -> str:
    return f"<p>{cases - MOST_CASES} better cases are left out.</p>" if cases > MOST_CASES else ""
