"""What the command prints and with which exit code it ends, over a scripted portal."""

import io
import json
from collections import Counter

import httpx
import pytest

from client.cli.main import build_parser, main, run
from client.cli.output import Cli, Output, printable
from client.cli.upload import alike, pairs
from client.errors import ConfigurationError
from tests.client.portal import Portal, answer, refusal

MONEY = {"nano": 1_500_000_000, "hyd": "1.5"}
JOB = {
    "id": "j1", "recipe": "image-cnn-small", "recipe_version": "1", "strategy": "sync", "release": "r1",
    "campaign": "digits", "parameters": {"steps": 20, "learning_rate": 0.004}, "state": "running", "reason": "",
    "step": 3, "samples": 192, "sample_limit": 1280, "charged": MONEY, "credit_limit": MONEY, "metrics": {},
    "checkpoint": None, "finished_at": None, "is_over": False,
}  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def hydra(tmp_path):
    """Runs one command against a portal: → (exit code, stdout, stderr)."""

    def types(portal, *arguments, terminal=False):
        out, err = io.StringIO(), Terminal() if terminal else io.StringIO()
        options = build_parser().parse_args(arguments)
        output = Output(as_json=options.json, stdout=out, stderr=err)
        code = run(Cli(options, output, {}, tmp_path / "credentials.json", lambda access: portal.hydra))
        return code, out.getvalue(), err.getvalue()

    return types


@pytest.mark.parametrize(
    "answered, code",
    [
        (refusal(400, "invalid"), 1),
        (refusal(409, "campaign_closed"), 1),
        (refusal(401, "unauthenticated"), 3),
        (refusal(403, "scope"), 3),
        (refusal(404, "not_found"), 4),
        (refusal(429, "throttled"), 5),
        (refusal(500, "internal"), 5),
        (httpx.ConnectError("refused"), 5),
        (httpx.Response(200, text="<html>"), 1),
    ],
)
def test_each_kind_of_failure_has_its_exit_code_and_no_traceback(hydra, answered, code):
    ended, out, err = hydra(Portal(lambda request: answered), "me")
    assert (ended, out) == (code, "")
    assert err.startswith("hydra: ") and "Traceback" not in err


def test_a_refusal_names_its_fields_once_each(hydra):
    refused = refusal(
        400, "invalid", "title: Too long.", fields={"title": ["Too long."], "classes": ["Too few."]}
    )
    _, _, err = hydra(Portal([refused]), "campaigns", "create", "--title", "x")
    assert err.splitlines() == ["hydra: title: Too long.", "  classes: Too few."]


def test_with_json_an_error_is_json_too(hydra):
    code, out, err = hydra(Portal([refusal(404, "not_found", "None.")]), "me", "--json")
    assert (code, out) == (4, "")
    assert json.loads(err)["error"] == {"status": 404, "code": "not_found", "message": "None.", "fields": {}}


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["jobs"], ["jobs", "show"], ["upload", "digits"]])
def test_wrong_usage_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: hydra" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--help"], ["upload", "--help"], ["campaigns", "create", "--help"], ["predict", "--help"]]
)
def test_help_is_there(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert "usage: hydra" in capsys.readouterr().out


def test_an_answer_of_another_version_is_said_to_be_one(hydra):
    code, _, err = hydra(Portal([answer({"email": "x"})]), "me")
    assert (
        code == 1
        and err
        == "hydra: the portal's answer lacks 'moderator'; client and portal are of different versions.\n"
    )


@pytest.mark.parametrize("limit", ["0", "-1", "x"])
def test_a_limit_below_one_is_wrong_usage(limit, capsys):
    with pytest.raises(SystemExit):
        main(["statement", "--limit", limit])
    assert "must be 1 or more" in capsys.readouterr().err


def test_a_setting_that_is_none_is_exit_code_2(hydra):
    code, _, err = hydra(Portal([]), "unlock", "much")
    assert code == 2 and "is not an amount" in err


def test_what_others_wrote_cannot_move_the_cursor(hydra):
    row = {"slug": "x", "title": "\x1b[2Jgone\r", "modality": "image", "state": "open", "reward_base": MONEY}
    _, out, _ = hydra(Portal([answer({"results": [row], "next": None})]), "campaigns", "list")
    assert "\x1b" not in out and "\r" not in out and "gone" in out
    assert printable("a\tb\nü漢") == "a\tb\nü漢"


def test_columns_are_aligned_also_with_wide_letters(hydra):
    rows = [
        {"slug": slug, "title": title, "modality": "image", "state": "open", "reward_base": MONEY}
        for slug, title in (("a", "数字"), ("bcd", "Digits"))
    ]
    _, out, _ = hydra(Portal([answer({"results": rows, "next": None})]), "campaigns", "list")
    assert out.splitlines() == [
        "CAMPAIGN  TITLE   MODALITY  STATE  REWARD UP TO",
        "a         数字    image     open   1.5 HYD",
        "bcd       Digits  image     open   1.5 HYD",
    ]


def test_an_empty_list_says_what_to_do(hydra):
    empty = answer({"results": [], "next": None})
    assert hydra(Portal([empty]), "jobs", "list")[1] == "You have no jobs: hydra jobs create --help\n"
    assert hydra(Portal([empty]), "jobs", "list", "--json")[1] == "[]\n"


def test_a_job_is_watched_until_it_is_over_and_only_news_is_printed(hydra):
    later = JOB | {"step": 20, "samples": 1280, "metrics": {"accuracy": 0.971}}
    over = later | {"state": "completed", "is_over": True, "checkpoint": {"step": 20, "sha256": "ab" * 32}}
    code, out, err = hydra(Portal([answer(one) for one in (JOB, JOB, later, over)]), "jobs", "watch", "j1")
    assert code == 0
    assert [line.split()[0:3] for line in err.splitlines()] == [
        ["running", "step", "3"],
        ["running", "step", "20"],
        ["completed", "step", "20"],
    ]
    assert "accuracy 0.971" in out and "steps=20, learning_rate=0.004" in out


def test_a_job_that_failed_ends_with_1(hydra):
    failed = JOB | {"state": "failed", "is_over": True, "reason": "The training has diverged."}
    code, out, _ = hydra(Portal([answer(failed)]), "jobs", "watch", "j1")
    assert code == 1 and "diverged" in out


def test_a_failed_release_ends_with_1(hydra):
    release = {"id": "r", "campaign": "d", "version": 1, "modality": "image", "state": "failed", "failure": "No space.",
               "train_items": 0, "test_items": 0, "manifest_sha256": "", "ready_at": None}  # fmt: skip
    code, out, _ = hydra(Portal([answer(release), answer(release)]), "releases", "build", "d")
    assert code == 1 and "No space." in out


COUNTS = {"received": 1200, "accepted": 1190, "duplicate": 4, "rejected": 3, "ignored": 2, "pending": 1}


def uploads(counts, refuse=b"none"):
    """A portal that takes files but those with `refuse` in them, and counts as told."""

    def handle(request):
        path = request.url.path.removeprefix("/api/v1")
        if path.endswith("/files"):
            return (
                refusal(413, "too_big", "Too big.")
                if refuse in request.content
                else answer({"received": 1}, 201)
            )
        if path.endswith("/items"):
            item = {"reason": "It is an exact copy.", "needs_review": False}
            return answer({"results": [item, item], "next": None})
        if path.endswith("/submissions"):
            return answer({"id": "s1"}, 201)
        if "/submissions/" in path:
            return answer({"id": "s1", "state": "judged", "stage": "", "counts": counts})
        return answer(
            {
                "slug": "digits",
                "title": "Digits",
                "consent_version": 3,
                "consent_text": "Yours?",
                "licence": "CC0",
                "classes": ["0", "1", "Café au lait"],
                "attributes": [{"name": "sex", "values": ["F", "M"], "targets": {}}],
            }
        )

    return Portal(handle)


@pytest.fixture
def folder(tmp_path):
    for number in range(20):
        path = tmp_path / "digits" / str(number % 2) / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"picture %d" % number)
    return str(tmp_path / "digits")


def test_an_upload_ends_with_the_equation_and_the_reasons(hydra, folder):
    portal = uploads(COUNTS)
    code, out, err = hydra(portal, "upload", "digits", folder, "--agree")
    assert code == 0
    assert out.splitlines() == [
        "20 of 20 files arrived. Submission s1:",
        "  received  1,200",
        "= accepted  1,190",
        "+ duplicate     4",
        "+ rejected      3",
        "+ ignored       2",
        "+ pending       1",
        "",
        "ITEMS  STATE      REASON",
        "    2  duplicate  It is an exact copy.",
        "    2  rejected   It is an exact copy.",
        "    2  ignored    It is an exact copy.",
        "    2  pending    It is an exact copy.",
    ]
    assert err.splitlines()[0] == "Submission s1: 20 files, 0.0 MB."
    assert [line.split(" files")[0] for line in err.splitlines()[1:11]] == [
        f"{2 * n} of 20" for n in range(1, 11)
    ]
    started = next(request for request in portal.requests if request.url.path.endswith("/digits/submissions"))
    assert json.loads(started.content) == {"consent_version": 3}


def test_on_a_terminal_progress_is_one_redrawn_line(hydra, folder):
    _, _, err = hydra(uploads(COUNTS), "upload", "digits", folder, "--agree", terminal=True)
    last = err.split("\n")[1].split("\r")[-1]
    assert last.startswith("[####################] 20/20 files")


def test_counts_that_do_not_add_up_are_not_hidden(hydra, folder):
    code, _, err = hydra(uploads(COUNTS | {"pending": 0}), "upload", "digits", folder, "--agree")
    assert code == 1 and "do not add up: the parts make 1,199" in err


def test_a_file_that_did_not_arrive_is_named_and_the_exit_code_says_so(hydra, folder):
    code, out, err = hydra(uploads(COUNTS, refuse=b"picture 7"), "upload", "digits", folder, "--agree")
    assert code == 1
    assert "19 of 20 files arrived" in out
    assert "not received" in err and "7.png: Too big." in err
    code, out, _ = hydra(
        uploads(COUNTS, refuse=b"picture 7"), "upload", "digits", folder, "--agree", "--json"
    )
    assert code == 1 and json.loads(out)["not_received"][0]["reason"] == "Too big."


def test_where_nothing_arrives_nothing_is_completed(hydra, folder):
    portal = uploads(COUNTS, refuse=b"picture")
    code, _, err = hydra(portal, "upload", "digits", folder, "--agree")
    assert code == 1 and "nothing to validate" in err
    assert not any(request.url.path.endswith("/complete") for request in portal.requests)


@pytest.mark.parametrize("resume", [[], ["--resume", "s1"]])
@pytest.mark.parametrize(
    "terms, said",
    [
        (["--label", "cat"], "--label 'cat' is no class of the campaign. Choose one of: 0, 1, Café au lait."),
        (["--attribute", "age=9"], "--attribute age: the campaign declares no such attribute. It has: sex."),
        (["--attribute", "sex=X"], "--attribute sex 'X' is no value of the campaign. Choose one of: F, M."),
    ],
)
def test_terms_that_the_campaign_does_not_have_are_refused_before_anything_is_sent(
    hydra, folder, terms, said, resume
):
    portal = uploads(COUNTS)
    code, out, err = hydra(portal, "upload", "digits", folder, "--agree", *terms, *resume)
    assert (code, out, err) == (2, "", f"hydra: {said} Nothing was sent.\n")
    assert {request.method for request in portal.requests} == {"GET"}


@pytest.mark.parametrize(
    "terms", [["--label", "1"], ["--label", "Cafe\u0301  au lait "], ["--attribute", "sex=F"]], ids=str
)
def test_terms_that_the_campaign_has_are_sent(hydra, folder, terms):
    assert hydra(uploads(COUNTS), "upload", "digits", folder, "--agree", *terms)[0] == 0


RELEASE = "3f0f6c2e-0000-4000-8000-000000000001"
RECIPE = {
    "name": "image-cnn-small", "price_per_sample": {"nano": 1_000_000, "hyd": "0.001"},
    "parameters": [{"name": "steps", "default": 300}, {"name": "batch_size", "default": 64}],
}  # fmt: skip


def test_a_release_that_is_no_id_is_refused_with_where_ids_are_found(hydra):
    code, _, err = hydra(Portal([]), "jobs", "create", "nope", "image-cnn-small")
    assert code == 2
    assert err == "hydra: 'nope' is not the id of a release. The ids are in: hydra releases list CAMPAIGN\n"


@pytest.mark.parametrize("value", ["abc", "0", "1.5", "inf"])
@pytest.mark.parametrize("wrong, right", [("steps", "batch_size"), ("batch_size", "steps")])
def test_only_the_parameter_that_is_wrong_is_blamed(hydra, wrong, right, value):
    recipes = answer({"results": [RECIPE], "next": None})
    code, _, err = hydra(
        Portal([recipes]), "jobs", "create", RELEASE, "image-cnn-small", "--set", f"{wrong}={value}"
    )
    assert code == 2 and right not in err
    assert err == f"hydra: --set {wrong}={value}: must be a whole number of 1 or more.\n"


@pytest.mark.parametrize("value", ["nan", "inf", "1e999"])
def test_a_parameter_that_json_cannot_carry_is_the_portals_to_refuse(hydra, value):
    portal = Portal([refusal(400, "invalid", "learning_rate must be a number.")])
    given = ["--set", f"learning_rate={value}", "--limit", "1"]
    code, _, err = hydra(portal, "jobs", "create", RELEASE, "image-cnn-small", *given)
    assert (code, err) == (1, "hydra: learning_rate must be a number.\n")
    assert portal.body()["parameters"] == {"learning_rate": value}


def test_speeds_and_parameters_are_printed_in_full(hydra):
    peer = {"peer_id": "ab" * 32, "name": "v", "online": True, "state": "idle", "samples_per_s": 1090.4,
            "samples_total": 12, "last_seen_at": None}  # fmt: skip
    slow = peer | {"samples_per_s": 0.04}
    _, out, _ = hydra(Portal([answer({"results": [peer, slow], "next": None})]), "network", "peers")
    assert [line.split()[4] for line in out.splitlines()[1:]] == ["1,090", "0.04"]
    job = JOB | {"parameters": {"seed": 1_234_567, "learning_rate": 0.004}, "metrics": {"loss": 123456.0}}
    _, out, _ = hydra(Portal([answer(job)]), "jobs", "show", "j1")
    assert "seed=1234567, learning_rate=0.004" in out and "loss 123,456" in out


@pytest.mark.parametrize("typed, code", [("y\n", 0), ("\n", 2), ("no\n", 2)])
def test_on_a_terminal_one_is_asked_to_agree(hydra, folder, monkeypatch, typed, code):
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    portal = uploads(COUNTS)
    ended, _, err = hydra(portal, "upload", "digits", folder)
    assert ended == code
    assert "Yours?" in err
    assert any(request.method == "POST" for request in portal.requests) is (code == 0)


def test_an_upload_that_breaks_off_says_how_to_go_on(hydra, folder):
    def handle(request):
        if request.url.path.endswith("/files"):
            raise httpx.ConnectError("gone")
        return answer({"id": "s1", "slug": "digits", "consent_version": 1, "classes": [], "attributes": []})

    code, _, err = hydra(Portal(handle, tries=1), "upload", "digits", folder, "--agree")
    assert code == 5
    assert "--resume s1" in err


def test_reasons_that_differ_in_particulars_are_put_together():
    reasons = Counter(
        {("pending", "“0” has 8.6%."): 1, ("pending", "“1” has 20%."): 2, ("rejected", "Damaged."): 2}
    )
    assert alike(reasons) == [("pending", "“0” has 8.6%. (and the like)", 3), ("rejected", "Damaged.", 2)]


def test_what_is_not_there_is_named(hydra):
    _, _, err = hydra(Portal([refusal(404, "not_found", "None.")]), "campaigns", "show", "digitz")
    assert err.splitlines() == ["hydra: None.", "Asked for: /campaigns/digitz"]


def test_pairs_are_read_and_what_is_none_is_refused():
    assert pairs(["a=1", "b=x=y"], "--set") == {"a": "1", "b": "x=y"}
    for bad in ("a", "=1", ""):
        with pytest.raises(ConfigurationError, match="must be NAME=VALUE"):
            pairs([bad], "--set")


def test_predict_reaches_the_workers_command(tmp_path, capsys):
    assert main(["predict", str(tmp_path / "absent.safetensors"), "a.png"]) == 1
    assert "no such file" in capsys.readouterr().err


def test_an_installation_without_the_worker_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "trainer.recipes.predict", None)
    assert main(["predict", "c", "a.png"]) == 2
    assert "pip install 'hydra[worker]'" in capsys.readouterr().err
