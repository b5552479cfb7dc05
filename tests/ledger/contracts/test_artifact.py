"""The committed artifact belongs to the committed sources, and each function of ours is described in it."""

import hashlib
import json
from pathlib import Path

from ledger.chain.deployment import ARTIFACT, load_artifact

SOURCES = ARTIFACT.parents[1]
CODE_LIMIT = 24_576
# Inherited from OpenZeppelin, described there with @dev.
FOREIGN = {
    "allowance", "approve", "balanceOf", "decimals", "name", "symbol", "totalSupply", "transfer", "transferFrom",
    "DEFAULT_ADMIN_ROLE", "acceptDefaultAdminTransfer", "beginDefaultAdminTransfer", "cancelDefaultAdminTransfer",
    "changeDefaultAdminDelay", "defaultAdmin", "defaultAdminDelay", "defaultAdminDelayIncreaseWait", "getRoleAdmin",
    "grantRole", "hasRole", "owner", "pendingDefaultAdmin", "pendingDefaultAdminDelay", "renounceRole", "revokeRole",
    "rollbackDefaultAdminDelay", "supportsInterface", "eip712Domain", "BIND_TYPEHASH",
}  # fmt: skip


def stored() -> dict:
    return json.loads(ARTIFACT.read_text())


def test_was_compiled_from_these_sources() -> None:
    own = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(SOURCES).glob("*.sol"))
    }
    recorded = {name: digest for name, digest in stored()["sources"].items() if "/" not in name}
    assert recorded == own, "run `node ledger/contracts/compile.mjs` and commit the artifact"


def test_every_external_function_of_ours_has_a_notice() -> None:
    described = {signature.split("(")[0] for signature in stored()["userdoc"]}
    functions = {entry["name"] for entry in stored()["abi"] if entry["type"] == "function"}
    assert functions - FOREIGN - described == set()
    assert functions >= FOREIGN


def test_fits_on_a_chain() -> None:
    assert 0 < len(load_artifact().deployed_bytecode) <= CODE_LIMIT


def test_the_code_hash_ignores_what_a_deployment_fills_in_and_nothing_else() -> None:
    artifact = load_artifact()
    filled = bytearray(artifact.deployed_bytecode)
    for start, length in artifact.immutables:
        filled[start : start + length] = b"\x77" * length
    assert artifact.hash_of(bytes(filled)) == artifact.code_hash
    filled[0] ^= 1
    assert artifact.hash_of(bytes(filled)) != artifact.code_hash
