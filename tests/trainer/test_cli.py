"""The command line: wrong input is one line that says what to do, never a traceback; status tells what is."""

import json
import subprocess
import sys

import pytest

from tests.trainer.releases import make_release
from trainer.cli import main
from trainer.config import check_market, read_token, write_private
from trainer.errors import HomeInUse, SettingInvalid
from trainer.home import hold
from trainer.identity import load_or_create
from trainer.market.fake import FakeMarket

PARAMS = {"steps": 5, "batch_size": 8, "hidden": 4}


@pytest.mark.parametrize(
    "argv, why",
    [
        (["join", "--market", "localhost", "--home", "{tmp}"], "--market"),
        (["join", "--market", "http://127.0.0.1:9", "--home", "{tmp}"], "one-time code"),
        (["join", "--market", "http://x", "--home", "{tmp}", "--max-rounds-delay-ms", "-1"], "negative"),
        (
            ["backbone", "--market", "http://x", "--home", "{tmp}", "--token-file", "{tmp}/none"],
            "--token-file",
        ),
        (["solo", "--release-dir", "{tmp}", "--recipe", "tabular-mlp"], "manifest.json"),
        (["solo", "--release-dir", "{tmp}", "--recipe", "tabular-mlp", "--params", "{"], "--params"),
        (["status", "--home", "{tmp}/nobody"], "no enrolment"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_wrong_input_is_one_line_that_says_what_is_wrong(argv, why, tmp_path, capsys):
    code = main([word.replace("{tmp}", str(tmp_path)) for word in argv])
    out = capsys.readouterr()
    assert code == 2 and why in out.err and "Traceback" not in out.err
    assert out.err.count("\n") == 1


@pytest.mark.parametrize("command", [["join", "--code", "x"], ["backbone", "--token-file", "{tmp}/token"]])
def test_a_second_process_on_a_home_does_not_start(command, tmp_path, capsys):
    (tmp_path / "token").write_text("hyd_x")
    words = [word.replace("{tmp}", str(tmp_path)) for word in command]
    with hold(tmp_path / "home"):
        code = main([*words, "--market", "http://127.0.0.1:9", "--home", str(tmp_path / "home")])
    said = capsys.readouterr().err
    assert code == 2 and "another process already uses this home" in said and "use another --home" in said
    assert said.count("\n") == 1 and not (tmp_path / "home" / "peer.key").exists()


def test_a_home_is_free_again_once_its_process_has_ended(tmp_path):
    program = "import sys, pathlib; from trainer.home import hold; kept = hold(pathlib.Path(sys.argv[1])); "
    program += "kept.__enter__(); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(HomeInUse), hold(tmp_path):
            pass
        other.kill()
        other.wait()
    with hold(tmp_path), hold(tmp_path / "another"):
        pass


def test_a_home_that_cannot_be_made_is_said_to_be_so(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert (
        main(["join", "--market", "http://127.0.0.1:9", "--home", str(tmp_path / "file"), "--code", "x"]) == 2
    )
    assert capsys.readouterr().err.startswith("error: --home: ")


def test_a_wrong_code_is_one_clean_sentence(tmp_path, capsys):
    with FakeMarket({}) as market:
        assert main(["join", "--market", market.url, "--home", str(tmp_path), "--code", "wrong"]) == 2
    said = capsys.readouterr().err
    assert said == "error: the market does not enrol this peer: This code is not valid, or was used.\n"


def test_a_recipe_that_is_none_is_named(tmp_path, capsys):
    make_release(tmp_path, n_train=20, n_test=10)
    assert main(["solo", "--release-dir", str(tmp_path), "--recipe", "magic"]) == 2
    assert "magic" in capsys.readouterr().err


def test_solo_prints_its_figures(tmp_path, capsys):
    make_release(tmp_path, n_train=40, n_test=20)
    argv = ["solo", "--release-dir", str(tmp_path), "--recipe", "tabular-mlp", "--params", json.dumps(PARAMS)]
    assert main(argv) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["steps"] == 5 and 0 <= figures["accuracy"] <= 1 and figures["loss"] > 0


def test_status_tells_who_this_is_and_whether_the_market_is_there(tmp_path, capsys):
    peer = load_or_create(tmp_path)
    with FakeMarket({}) as market:
        saved = {"peer_id": peer.peer_id, "token": "hyd_x", "market": market.url}
        write_private(tmp_path / "enrolment.json", json.dumps(saved))
        market.backbones.append({"peer_id": peer.peer_id, "host": "127.0.0.1", "port": 9000})
        assert main(["status", "--home", str(tmp_path)]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["peer_id"] == peer.peer_id and told["enrolled"]
        assert told["backbones"] == ["127.0.0.1:9000"]
        market.away = True
        assert main(["status", "--home", str(tmp_path)]) == 1
        assert not json.loads(capsys.readouterr().out)["market_reachable"]


@pytest.mark.parametrize("url", ["", "x", "ftp://x", "http://"])
def test_an_address_that_is_none_is_refused(url):
    assert check_market("https://hydra.example/") == "https://hydra.example"
    with pytest.raises(SettingInvalid, match="--market"):
        check_market(url)


def test_a_token_file_holds_one_token(tmp_path):
    (tmp_path / "t").write_text("hyd_abc\n")
    assert read_token(tmp_path / "t") == "hyd_abc"
    (tmp_path / "t").write_text("two words")
    with pytest.raises(SettingInvalid, match="one token"):
        read_token(tmp_path / "t")


@pytest.mark.parametrize("module", ["trainer", "trainer.wire", "trainer.wire.messages", "trainer.errors"])
def test_the_wire_loads_neither_torch_nor_sockets(module):
    code = f"import {module}, sys; print(sorted({{'torch', 'socket', 'asyncio', 'numpy', 'httpx'}} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_the_programs_load_nothing_of_the_server():
    code = (
        "import trainer.cli, trainer.worker, trainer.backbone.service, trainer.solo, sys;"
        "print(sorted({'django', 'celery', 'web3', 'marketplace', 'ledger', 'config'} & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
