"""What the embedded stack consists of, and what replaces its parts."""

import socket

import pytest

from config.env import SettingError
from config.stack import Ports, Stack, valkey_server
from config.supervisor import AlreadyRunning, hold


def names(processes):
    return [process.name for process in processes]


def test_embedded_parts_are_started(tmp_path):
    stack = Stack.read({"HYDRA_VAR": str(tmp_path)})
    assert names(stack.infrastructure()) == ["broker", "chain"]
    assert names(stack.services()) == ["web", "worker", "beat", "sender", "indexer", "backbone"]


def test_outer_services_replace_the_embedded_ones(tmp_path):
    outer = {
        "HYDRA_VAR": str(tmp_path),
        "BROKER_URL": "redis://cache/0",
        "CHAIN_RPC_URL": "https://rpc.example",
    }
    stack = Stack.read(outer)
    assert stack.infrastructure() == []
    assert stack.environment["BROKER_URL"] == "redis://cache/0"
    assert stack.environment["CHAIN_DURABLE_FILE"] == ""  # a public chain is final by confirmations


def test_volunteers_get_nothing_of_the_servers_settings(tmp_path):
    outer = {
        "HYDRA_VAR": str(tmp_path),
        "SECRET_KEY": "s",
        "DATABASE_URL": "postgresql://h/d",
        "PATH": "/bin",
    }
    volunteer = Stack.read(outer).volunteer("ann", code="c0de")
    assert set(volunteer.environment) == {"PATH", "HOME", "PYTHONUNBUFFERED", "OMP_NUM_THREADS"}
    assert volunteer.folder == tmp_path / "volunteers" / "ann"
    assert list(volunteer.argv[-2:]) == ["--code", "c0de"]


def test_a_taken_port_is_named_with_its_setting(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        stack = Stack.read({"HYDRA_VAR": str(tmp_path), "HYDRA_CHAIN_PORT": str(port)})
        assert (
            f"port {port} (chain) is in use; stop what holds it or set HYDRA_CHAIN_PORT"
            in stack.taken_ports()
        )


def test_a_port_that_is_no_port_stops_the_start():
    with pytest.raises(SettingError, match="HYDRA_WEB_PORT is 'x'"):
        Ports.read({"HYDRA_WEB_PORT": "x"})


def test_one_instance_per_state_folder(tmp_path):
    with hold(tmp_path), pytest.raises(AlreadyRunning, match="set HYDRA_VAR to another folder"):
        hold(tmp_path)
    hold(tmp_path).close()  # the lock went with its holder; the file it left blocks nobody


def test_the_embedded_broker_is_there():
    assert valkey_server().endswith("valkey-server")


def test_two_parts_cannot_have_one_port():
    with pytest.raises(
        SettingError, match="HYDRA_CHAIN_PORT is '8000'; expected another port than HYDRA_WEB_PORT's"
    ):
        Ports.read({"HYDRA_CHAIN_PORT": "8000"})


def test_the_portal_and_the_backbone_may_listen_elsewhere(tmp_path):
    stack = Stack.read({"HYDRA_VAR": str(tmp_path), "HYDRA_HOST": "10.1.2.3"})
    assert stack.url == "http://10.1.2.3:8000"
    assert "10.1.2.3" in stack.backbone().argv and "10.1.2.3:8000" in stack.web().argv
    assert stack.environment["ALLOWED_HOSTS"] == "10.1.2.3"


def test_an_address_that_nobody_can_connect_to_is_refused():
    with pytest.raises(SettingError, match="one address of this machine"):
        Stack.read({"HYDRA_HOST": "0.0.0.0"})


def test_a_state_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="a folder that can be written to"):
        hold(tmp_path / "file")
