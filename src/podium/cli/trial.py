"""`podium models test`: one small question to a model, and what came back."""

from __future__ import annotations

from podium.api.trial import Trial, hint_of, problem_of, trial_data
from podium.api.trial import try_model as ask_model
from podium.cli.card import say_line, say_prose
from podium.cli.failure import FAILED, tell
from podium.cli.terminal import out, print_json
from podium.report.costs import price_word
from podium.report.words import brief, count, model_name, sentence
from podium.settings import Settings


async def try_model(name: str, *, as_json: bool) -> int:
    """Ask, and show what came back. The exit code."""

    def asking(model: str) -> None:
        if not as_json:
            say_line(out(), (f"Asking {model_name(model)} …", "dim"))

    trial = await ask_model(name, Settings.load(), asking=asking)
    if as_json:
        print_json(trial_data(trial))
    elif trial.ok:
        _print(trial)
    else:
        tell(sentence(problem_of(trial)), hint_of(trial))
    return 0 if trial.ok else FAILED


def _print(trial: Trial) -> None:
    console, last, used = out(), trial.last, trial.usage
    if last is None:
        raise AssertionError("an answer without an attempt")
    say_line(console, ("✓ answered  ", "green"), model_name(last.model))
    pairs = [
        ("latency", f"{last.latency_ms:,.0f} ms"),
        ("mode", last.mode),
        ("tokens", f"{used.input_tokens:,} in, {used.output_tokens:,} out"),
        ("cost", price_word(used)),
        ("attempts", count(len(trial.attempts), "call") if len(trial.attempts) > 1 else ""),
        ("repairs", str(trial.repairs or "")),
        *(("instead of", f"{model_name(one.from_model)}: {one.error}") for one in trial.fell_back),
        ("reply", brief(trial.result.output, 300)),
        ("note", "a rehearsal: the answer was made up, no model was asked" if last.rehearsal else ""),
    ]
    for label, told in pairs:
        if told:
            say_prose(console, (label.ljust(12), "dim"), told)
