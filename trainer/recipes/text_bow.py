"""text-hashed-bow: averaged vectors of hashed words and word pairs, and how texts become numbers."""

import itertools
import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainer.recipes.errors import QuestionError, why
from trainer.recipes.optimizers import adam
from trainer.recipes.recipe import Questions, Recipe
from trainer.recipes.shards import Sample
from trainer.recipes.specs import RECIPES

MAX_WORDS = 400  # the beginning of a text; bounds a row at 4 KB
MAX_FEATURES = 512
_WORD = re.compile(r"\w+")


class TextBow(nn.Module):
    """Shapes: [n, features] int64 hashes, 0 where a text is shorter → [n, classes].

    The table is a plain parameter with dense gradients, so that peers can sum them as one vector.
    Vectors are divided by √features rather than features: the sum of n independent signs grows as √n, and a long
    text would otherwise whisper.
    """

    def __init__(self, classes: int, buckets: int, dimensions: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(buckets + 1, dimensions, mode="sum", padding_idx=0)
        self.classify = nn.Linear(dimensions, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        buckets = self.table.num_embeddings - 1
        rows = torch.where(inputs == 0, 0, inputs % buckets + 1)
        count = (inputs != 0).sum(dim=1, keepdim=True).clamp_min(1)
        return self.classify(self.table(rows) / count.to(self.classify.weight.dtype).sqrt())


class TextRecipe(Recipe):
    spec = RECIPES["text-hashed-bow"]

    def optimizer(self, model: nn.Module, params: Mapping[str, Any]) -> torch.optim.Optimizer:
        return adam(model, params)

    def read_questions(self, paths: Sequence[Path], schema: Mapping[str, Any]) -> Questions:
        """A .jsonl holds one {"text": …} per line, any other file is one text."""
        named = list(itertools.chain.from_iterable(_texts(Path(path)) for path in paths))
        return Questions([name for name, _ in named], _padded([text for _, text in named]))

    def _layers(self, schema: Mapping[str, Any], classes: int, params: Mapping[str, Any]) -> nn.Module:
        return TextBow(classes, int(params["buckets"]), int(params["dimensions"]))

    def _encode(self, samples: Sequence[Sample], schema: Mapping[str, Any]) -> Tensor:
        return _padded([sample.content for sample in samples])


def features(text: str) -> list[int]:
    """The text's different words and neighbouring pairs, each as a number from 1 to 2³¹ - 1.

    CRC-32, not Python's hash(), which differs from process to process.
    """
    words = [match.group() for match in itertools.islice(_WORD.finditer(text.casefold()), MAX_WORDS)]
    pairs = (f"{first} {second}" for first, second in itertools.pairwise(words))
    different = dict.fromkeys(itertools.chain(words, pairs))
    return [_hash(feature) for feature in itertools.islice(different, MAX_FEATURES)]


def _hash(feature: str) -> int:
    return zlib.crc32(feature.encode("utf-8", "surrogatepass")) % (2**31 - 1) + 1


def _padded(texts: Iterable[str]) -> Tensor:
    rows = [torch.tensor(features(text) or [0], dtype=torch.int64) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def _texts(path: Path) -> list[tuple[str, str]]:
    try:
        content = path.read_text("utf-8")
    except UnicodeDecodeError as exc:
        raise QuestionError(
            str(path), "this is no UTF-8 text; a text checkpoint is asked about .txt or .jsonl files"
        ) from exc
    except OSError as exc:
        raise QuestionError(str(path), f"cannot be read ({why(exc)})") from exc
    if path.suffix != ".jsonl":
        return [(str(path), content)]
    named = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            text = json.loads(line)["text"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            raise QuestionError(f"{path}:{number}", 'must be an object such as {"text": "…"}')
        named.append((f"{path}:{number}", text))
    if not named:
        raise QuestionError(str(path), "holds no lines")
    return named
