"""A party's console on the institution's network: people show certificates of their authority."""

import json
import shutil
import signal
import ssl
import subprocess
import sys

import pytest

from dpmosaic.simulations.local_network.ports import free_port
from support.authorities import PERSON, SERVER, Authority
from support.browsing import Client
from support.consoles import WAITING
from support.desks import Browser, serving, write_section
from support.edits import edit

pytestmark = pytest.mark.slow

ADA, BO = "CN=Ada Meier,OU=Data protection,O=Clinic", "CN=Bo Rossi,O=Clinic"
DECISION = {"reason": "the purpose is ours", "read": "yes"}
REFUSED = (ssl.SSLError, ConnectionError, BrokenPipeError)


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path, "staff")


@pytest.fixture
def address():
    return f"https://127.0.0.1:{free_port()}"


@pytest.fixture
def desk(past, authority, address):
    officers = json.dumps([f"certificate {one}" for one in (ADA, BO)])
    write_section(past, authority, address, f'people_authority = "{authority.file}"\nofficers = {officers}\n')
    with serving(past, address):
        yield past


@pytest.fixture
def browser(authority, address):
    """The browser of somebody who has this certificate; None for none."""
    return lambda files=None: Browser(address, authority.context(files))


def test_the_subject_of_the_certificate_signs_the_decision(desk, browser, authority):
    ada = browser(authority.issue("ada", ADA, PERSON))
    assert ada.get("/")[0] == 303
    assert ada.sign_in()[0] == 200
    assert ada.post(f"/releases/{WAITING}/approve", DECISION)[0] == 303
    (decision,) = json.loads(desk.run("show", WAITING, "--json"))["decisions"]
    assert decision["by"] == f"certificate {ADA}"
    assert decision["signed_by_this_party"]


def test_the_command_serves_until_it_is_stopped_and_takes_what_was_typed_for_no_login(
    past, browser, authority, address
):
    login = f"certificate {ADA}"
    edit(past.home.folder / "policy.toml", {"approval = true": f'approval = true\napprovers = ["{login}"]'})
    entries = f'people_authority = "{authority.file}"\nofficers = ["{login}"]\n'
    write_section(past, authority, address, entries)
    listen = address.removeprefix("https://")
    line = [sys.executable, "-c", "from dpmosaic.command import main; main()", "party", "console"]
    with subprocess.Popen(
        [*line, past.home.folder, "--https", listen], stdout=subprocess.PIPE, text=True
    ) as process:
        assert address in process.stdout.readline()
        ada = browser(authority.issue("ada", ADA, PERSON))
        assert ada.sign_in()[0] == 200
        assert ada.post(f"/releases/{WAITING}/approve", DECISION)[0] == 303
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    (decision,) = json.loads(past.run("show", WAITING, "--json"))["decisions"]
    assert decision["by"] == login


def test_a_console_on_the_machine_does_not_decide_by_a_login(past, consoles, authority):
    login = f"certificate {ADA}"
    edit(past.home.folder / "policy.toml", {"approval = true": f'approval = true\napprovers = ["{login}"]'})
    local = Client(consoles(past))
    local.enter()
    page = local.get(f"/releases/{WAITING}")[2]
    assert "sign in to the console on your institution" in page
    assert "Approve this release" not in page
    for verdict in ("approve", "deny"):
        status, _, text = local.post(f"/releases/{WAITING}/{verdict}", DECISION | {"by": login})
        assert status == 409
        assert "that of a login" in text


def test_a_session_is_of_no_use_with_another_certificate(desk, browser, authority):
    ada, bo = (browser(authority.issue(name, subject, PERSON)) for name, subject in (("a", ADA), ("b", BO)))
    ada.sign_in()
    bo.cookies = dict(ada.cookies)
    assert bo.get("/")[0] == 303
    assert ada.get("/")[0] == 200


def test_who_is_in_no_list_sees_nothing(desk, browser, authority):
    eve = browser(authority.issue("eve", "CN=Ada Meier,O=Clinic", PERSON))
    status, _, text = eve.sign_in()
    assert (status, eve.cookies) == (403, {})
    assert "certificate CN=Ada Meier,O=Clinic" in text
    assert eve.get("/")[0] == 303


@pytest.mark.parametrize("kind", ["none", "another authority's", "ended", "to come", "a server's"])
def test_other_certificates_do_not_even_reach_the_page_to_sign_in(desk, browser, authority, tmp_path, kind):
    (tmp_path / "others").mkdir()
    stranger = Authority(tmp_path / "others", "staff")
    made = {
        "none": lambda: None,
        "another authority's": lambda: stranger.issue("x", ADA, PERSON),
        "ended": lambda: authority.issue("x", ADA, PERSON, days=-1, former=2),
        "to come": lambda: authority.issue("x", ADA, PERSON, former=-0.5),
        "a server's": lambda: authority.issue("x", ADA, SERVER),
    }[kind]
    with pytest.raises(REFUSED):
        browser(made()).get("/sign-in")


def test_a_renewed_certificate_of_the_console_counts_from_the_next_connection_on(
    desk, browser, authority, address
):
    ada = browser(authority.issue("ada", ADA, PERSON))

    def serial():
        connection = ada.connection(ada.authority)
        connection.connect()
        shown = connection.sock.getpeercert()["serialNumber"]
        connection.close()
        return shown

    before = serial()
    certificate, key = authority.issue("renewed", "CN=127.0.0.1", SERVER, hosts=["127.0.0.1"])
    shutil.copy(certificate, authority.file.with_name("console.pem"))
    assert serial() == before  # The key of the new one is not there yet.
    shutil.copy(key, authority.file.with_name("console.key"))
    assert serial() != before
    assert ada.sign_in()[0] == 200
