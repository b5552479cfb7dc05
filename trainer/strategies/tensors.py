"""Named tensors as bytes in the safetensors format, written so that equal tensors always give equal bytes.

The format's own library orders metadata as it likes; here the header is canonical, because peers compare hashes.
Source: https://github.com/huggingface/safetensors#format
"""

import struct
from collections.abc import Mapping

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from trainer.errors import BadMessage
from trainer.wire.canonical import canonical_json, parse_json

KINDS = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
ALIGN = 8


def pack(tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> bytes:
    """Cost: one copy of every tensor."""
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    chunks, offset = [], 0
    for name in sorted(tensors, key=lambda name: (-tensors[name].element_size(), name)):  # keeps all aligned
        tensor = tensors[name].detach().contiguous().cpu()
        data = tensor.flatten().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        shape, ends = list(tensor.shape), [offset, offset + len(data)]
        header[name] = {"dtype": KINDS[tensor.dtype], "shape": shape, "data_offsets": ends}
        chunks.append(data)
        offset += len(data)
    encoded = canonical_json(header)
    encoded += b" " * (-len(encoded) % ALIGN)
    return struct.pack("<Q", len(encoded)) + encoded + b"".join(chunks)


def unpack(data: bytes) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Raises: BadMessage for anything that is not this format."""
    try:
        tensors = load(data)
        length = struct.unpack("<Q", data[:8])[0]
        header = parse_json(data[8 : 8 + length], "state")
    except (SafetensorError, struct.error) as error:
        raise BadMessage("state", "", f"not safetensors: {error}") from error
    return tensors, header.get("__metadata__", {})
