"""`python -m trainer.recipes.predict CHECKPOINT FILE…` (also `hydra predict`): asks a downloaded checkpoint."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from trainer.recipes.errors import RecipeError

DESCRIPTION = """Asks a checkpoint about files, on this machine; nothing is sent anywhere.

image checkpoints    FILE is a picture
text checkpoints     FILE is a text, or a .jsonl with {"text": ...} per line
tabular checkpoints  FILE is a .csv with a header, or a .jsonl with one object per line"""


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 answered, 1 a file or the checkpoint cannot be read, 2 wrong usage."""
    options = _parser().parse_args(argv)
    try:
        answers = ask(options.checkpoint, options.files, options.top)
    except RecipeError as exc:
        print(f"hydra predict: {exc}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(answers, ensure_ascii=False, indent=2))
    else:
        for answer in answers:
            print(
                f"{answer['name']}: "
                + ", ".join(f"{one['class']} {one['p']:.1%}" for one in answer["answers"])
            )
    return 0


def ask(checkpoint: Path, files: Sequence[Path], top: int = 1) -> list[dict]:
    """[{"name", "answers": [{"class", "p"}, … likeliest first]}, …]. Raises: RecipeError."""
    try:
        from trainer.recipes.checkpoint import load
    except ModuleNotFoundError as exc:
        raise RecipeError(
            "", f"predict needs {exc.name}: install it with: pip install 'hydra[worker]'"
        ) from exc
    loaded = load(checkpoint)
    questions = loaded.recipe.read_questions(files, loaded.about.schema)
    best = loaded.recipe.predict(loaded.model, questions.inputs).topk(min(top, len(loaded.about.classes)))
    return [
        {
            "name": name,
            "answers": [
                {"class": loaded.about.classes[place], "p": p} for p, place in zip(*pair, strict=True)
            ],
        }
        for name, pair in zip(
            questions.names, zip(best.values.tolist(), best.indices.tolist(), strict=True), strict=True
        )
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hydra predict", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoint", type=Path, help="a .safetensors file from `hydra jobs checkpoint`")
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    parser.add_argument(
        "--top", type=_count, default=1, metavar="N", help="show the N likeliest classes (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, not {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
