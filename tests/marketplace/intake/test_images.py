"""S3, S4, S10: decoding in the worker process; one bad item costs itself only."""

import io

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from marketplace.intake import DecodedImage, DecodeLimits, Refusal, Sandbox
from tests.marketplace.intake.pictures import encoded, noise, png

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HTML = b"<!DOCTYPE html><html><script>alert(1)</script></html>"


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox() as shared:
        yield shared


def opened(answer) -> Image.Image:
    assert isinstance(answer, DecodedImage), answer
    with Image.open(io.BytesIO(answer.png)) as image:
        image.load()
        return image


def test_pixel_floods_are_refused_by_the_limit_and_neighbours_pass(sandbox):
    floods = [encoded(Image.new("L", (12_000, 12_000))), encoded(Image.new("1", (14_000, 14_000)))]
    answers = sandbox.decode([png(1), *floods, png(2)])
    assert [type(a) for a in answers] == [DecodedImage, Refusal, Refusal, DecodedImage]
    assert "12000 × 12000 = 144,000,000 pixels; the limit is 40,000,000" in answers[1].reason
    assert "196,000,000" in answers[2].reason


def exif_twin(image: Image.Image) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif.get_ifd(0x8825)[1] = "N"
    return encoded(
        image.transpose(Image.Transpose.ROTATE_90), "JPEG", quality=95, exif=exif, comment=b"at home"
    )


def test_the_exif_twin_is_upright_and_carries_nothing(sandbox):
    upright = noise(128, 64)
    twin = exif_twin(upright)
    assert b"Exif" in twin
    plain, turned = sandbox.decode([encoded(upright), twin])
    assert (turned.width, turned.height) == (128, 64)
    difference = np.asarray(opened(plain), dtype=int) - np.asarray(opened(turned), dtype=int)
    assert np.abs(difference).mean() < 4
    assert not opened(turned).getexif()
    assert b"Exif" not in turned.png
    assert b"at home" not in turned.png


def test_the_tail_and_the_text_of_a_png_are_dropped(sandbox):
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", "Ada at home")
    data = encoded(noise(), pnginfo=info) + b"PK\x03\x04 a zip behind it <script>"
    (answer,) = sandbox.decode([data])
    assert b"Ada" not in answer.png
    assert b"script" not in answer.png
    assert answer.png.endswith(b"IEND\xaeB`\x82")


def test_few_bad_among_many(sandbox):
    good = [encoded(noise(seed=i), "JPEG") for i in range(199)]
    bad = [encoded(noise(64, 64), "JPEG")[:-20], HTML, SVG]
    renamed = png(300)  # a PNG named .jpg: what counts is what it is
    answers = sandbox.decode([*good[:100], *bad, *good[100:], renamed])
    refused = [a for a in answers if isinstance(a, Refusal)]
    assert len(answers) == 203
    assert [a.code for a in refused] == ["damaged", "html", "svg"]
    assert len({a.reason for a in refused}) == 3
    assert all(a.png.startswith(b"\x89PNG") for a in answers if isinstance(a, DecodedImage))
    assert sandbox.started == 1


def test_sixteen_bits_are_scaled_not_clipped(sandbox):
    ramp = np.linspace(0, 65_535, 4_096).astype(np.uint16).reshape(64, 64)
    (answer,) = sandbox.decode([encoded(Image.fromarray(ramp))])
    values = np.asarray(opened(answer)).ravel()
    assert len(set(values.tolist())) == 256
    assert np.abs(values.astype(int) - ramp.ravel() // 256).max() <= 1


@pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA", "CMYK", "YCbCr"])
def test_every_mode_becomes_grey_or_colour(sandbox, mode):
    kind = "TIFF" if mode in ("CMYK", "YCbCr") else "PNG"
    (answer,) = sandbox.decode([encoded(noise().convert("RGB").convert(mode), kind)])
    assert opened(answer).mode in ("L", "RGB")


def test_what_is_transparent_lies_on_white(sandbox):
    (answer,) = sandbox.decode([encoded(Image.new("RGBA", (8, 8), (0, 0, 0, 0)))])
    assert opened(answer).getpixel((3, 3)) == (255, 255, 255)


def test_the_pixel_hash_is_of_the_picture_not_of_the_file(sandbox):
    picture = noise()
    first, again, other = sandbox.decode([encoded(picture), encoded(picture, "BMP"), png(9)])
    assert first.pixel_sha256 == again.pixel_sha256 != other.pixel_sha256


def test_channels_follow_the_campaign():
    with Sandbox(DecodeLimits(channels=1)) as grey:
        (answer,) = grey.decode([encoded(noise().convert("RGB"))])
    assert (answer.channels, opened(answer).mode) == (1, "L")


@pytest.mark.parametrize(
    "data, code",
    [
        (b"", "empty"),
        (b"hello", "not_an_image"),
        (b"PK\x03\x04rest", "not_an_image"),
        (b"<?xml ?><svg/>", "svg"),
    ],
)
def test_what_is_no_picture_says_so(sandbox, data, code):
    assert sandbox.decode([data])[0].code == code


def test_an_empty_batch_and_a_too_large_file(sandbox):
    assert sandbox.decode([]) == []
    with Sandbox(DecodeLimits(file_bytes=1_000)) as small:
        assert [type(a) for a in small.decode([png(), encoded(noise(8, 8))])] == [Refusal, DecodedImage]
