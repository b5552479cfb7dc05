"""One image from untrusted bytes to a harmless PNG: runs inside the sandbox worker only, on Pillow alone.

Upright, 8 bits, no metadata, no tail of foreign bytes. Limits on memory and time are sandbox.py's.
"""

from __future__ import annotations

import hashlib
import io
import warnings
import zlib

from PIL import Image, ImageMode, ImageOps, UnidentifiedImageError

from marketplace.intake.entry import DecodedImage, DecodeLimits, Refusal

FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
ENDINGS = (
    (b"<svg", "svg", "This is an SVG drawing: it can carry scripts. Send a PNG or JPEG."),
    (b"<!doctype html", "html", "This is a web page (HTML), not an image."),
    (b"<html", "html", "This is a web page (HTML), not an image."),
    (b"<script", "html", "This is a web page (HTML), not an image."),
)
ARCHIVES = (b"PK\x03\x04", b"7z\xbc\xaf", b"Rar!", b"\x1f\x8b", b"%PDF-")


def decode_image(data: bytes, limits: DecodeLimits) -> DecodedImage | Refusal:
    """Decodes one file wholly. Every failure is a Refusal in words; only limits of the process escape."""
    if not data:
        return Refusal("empty", "The file is empty (0 bytes).")
    if len(data) > limits.file_bytes:
        return Refusal("too_large", f"The file is {len(data):,} bytes; the limit is {limits.file_bytes:,}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return _decode(data, limits)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return Refusal("too_many_pixels", f"The picture has more than {limits.pixels:,} pixels.")
    except UnidentifiedImageError:
        return _unknown(data)
    except MemoryError:
        return Refusal("memory", "The picture needs more memory than one picture may use.")
    except (
        OSError,
        ValueError,
        SyntaxError,
        EOFError,
        IndexError,
        KeyError,
        TypeError,
        OverflowError,
    ) as error:
        return Refusal("damaged", f"The picture is damaged or cut off ({_words(error)}).")


def _decode(data: bytes, limits: DecodeLimits) -> DecodedImage | Refusal:
    Image.MAX_IMAGE_PIXELS = None  # our own cap below, with the size in the message
    with Image.open(io.BytesIO(data), formats=FORMATS) as image:
        width, height = image.size
        if width * height > limits.pixels:
            return Refusal(
                "too_many_pixels",
                f"The picture has {width} × {height} = {width * height:,} pixels; the limit is {limits.pixels:,}.",
            )
        source = str(image.format)
        image.load()
        upright = ImageOps.exif_transpose(image)
        return _normalised(_to_eight_bits(upright), source, limits)


def _to_eight_bits(image: Image.Image) -> Image.Image:
    """L or RGB. 16-bit grey is scaled (convert("L") alone clips to white); transparency lies on white."""
    if image.mode.startswith("I") or image.mode == "F":
        return _scale_grey(image)
    if image.mode in ("1", "L"):
        return image.convert("L")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        ground = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        ground.alpha_composite(layer)
        grey = ImageMode.getmode(image.mode).basemode == "L" and image.mode != "P"
        return ground.convert("L" if grey else "RGB")
    return image.convert("L") if image.mode == "LA" else image.convert("RGB")


def _scale_grey(image: Image.Image) -> Image.Image:
    """16 bits by 1/256, so that 65,535 is white; float pictures count as 0 to 1 when they stay within."""
    low, high = (float(value) for value in image.getextrema())  # type: ignore[arg-type]
    if not 0 <= low <= high <= 65_535:
        raise ValueError(f"its brightness runs from {low:g} to {high:g}, not within 16 bits")
    scale = (
        255.0 if image.mode == "F" and high <= 1 else 1.0 if image.mode == "F" and high <= 255 else 1 / 256
    )
    wide = image if image.mode == "F" else image.convert("I")
    return wide.point(lambda value: value * scale).convert("L")


def _normalised(image: Image.Image, source: str, limits: DecodeLimits) -> DecodedImage:
    mode = {1: "L", 3: "RGB"}.get(limits.channels, image.mode)
    fresh = Image.new(mode, image.size)
    fresh.paste(image.convert(mode))  # a fresh image carries nothing over: no EXIF, no comment, no tail
    width, height = fresh.size
    digest = hashlib.sha256(f"{mode} {width} {height}\n".encode())
    digest.update(fresh.tobytes())
    out = io.BytesIO()
    # Runs only: photos get as small as with zlib's level 6 (they hold few repetitions) in a third of the time.
    fresh.save(out, "PNG", compress_level=1, compress_type=zlib.Z_RLE)
    return DecodedImage(out.getvalue(), width, height, 1 if mode == "L" else 3, digest.hexdigest(), source)


def _unknown(data: bytes) -> Refusal:
    head = data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    for mark, code, words in ENDINGS:
        if head.startswith(mark) or (head.startswith((b"<?xml", b"<!--", b"<!doctype")) and mark in head):
            return Refusal(code, words)
    if data.startswith(ARCHIVES):
        return Refusal("not_an_image", "This is an archive or a document, not an image.")
    if data[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftypavif"):
        return Refusal("not_supported", "HEIC and AVIF pictures are not supported; send a JPEG or PNG.")
    return Refusal(
        "not_an_image", "This is not a picture in a known format (PNG, JPEG, WebP, GIF, BMP, TIFF)."
    )


def _words(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:120] if text else type(error).__name__
