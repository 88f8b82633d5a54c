"""A party's console on the institution's network: people sign in at an OpenID provider and have roles."""

import base64
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from dpmosaic.common.errors import DataError
from dpmosaic.party.console.network import serve_network
from dpmosaic.simulations.local_network.ports import free_port
from support.authorities import SERVER, Authority
from support.consoles import WAITING
from support.desks import LISTS, Browser, of_provider, serving, write_section
from support.edits import edit
from support.providers import CLIENT, KID, Provider, public_jwk, signing_key

pytestmark = pytest.mark.slow

ADA = {"sub": "ada-7", "name": "Ada Meier", "groups": ["staff", "data-protection"]}
BO = {"sub": "bo-9", "name": "Bo Rossi", "groups": ["data-protection"]}
CY = {"sub": "cy-1", "name": "Cy Board", "groups": ["board"]}
DI = {"sub": "di-2", "name": "Di Admin", "groups": ["it"]}
EVE = {"sub": "eve-3", "name": "Eve", "groups": ["staff"]}
DECISION = {"reason": "the purpose is ours", "read": "yes"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def running(authority):
    """The provider of the institution."""
    files = authority.issue("provider", "CN=127.0.0.1", SERVER, hosts=["127.0.0.1"])
    with Provider().running(*files) as made:
        yield made


@pytest.fixture
def provider(running):
    before = dict(vars(running))
    running.changes, running.back, running.account = {}, None, dict(ADA)
    yield running
    vars(running).update(before)


@pytest.fixture
def address():
    return f"https://127.0.0.1:{free_port()}"


@pytest.fixture
def desk(past, authority, provider, address):
    """The operator of an institution whose console is on the network."""
    write_section(past, authority, address, of_provider(provider, authority, past) + LISTS)
    with serving(past, address):
        yield past


@pytest.fixture
def browser(authority, address):
    """A browser in which nobody is signed in."""
    return lambda: Browser(address, authority.context())


@pytest.fixture
def signed_in(desk, browser, provider):
    """The browser of somebody who signed in."""

    def as_account(account):
        provider.account = dict(account)
        made = browser()
        assert made.sign_in(provider)[0] == 200
        return made

    return as_account


def shown(operator):
    return json.loads(operator.run("show", WAITING, "--json"))


def events(operator):
    text = (operator.home.folder / "console.log").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_an_officer_signs_in_decides_and_signs_out(signed_in, desk, provider):
    ada = signed_in(ADA)
    page = ada.get(f"/releases/{WAITING}")[2]
    assert "Ada Meier" in page
    assert "Your name" not in page
    assert ada.post(f"/releases/{WAITING}/approve", DECISION | {"by": "somebody else"})[0] == 303
    form = shown(desk)
    assert form["state"] == "approved"
    (decision,) = form["decisions"]
    assert decision["by"] == f"login {provider.issuer} ada-7"
    assert decision["signed_by_this_party"]
    assert ada.post("/sign-out")[0] == 200
    assert "__Host-console" not in ada.cookies
    assert ada.get("/")[1]["Location"] == "/sign-in"
    assert [(one["event"], one["caller"], one["address"]) for one in events(desk)] == [
        ("signed in", f"login {provider.issuer} ada-7", "127.0.0.1"),
        ("signed out", f"login {provider.issuer} ada-7", "127.0.0.1"),
    ]
    trail = [json.loads(line) for line in desk.run("trail", "--json", "--kind", "console").splitlines()]
    assert [one["outcome"] for one in trail] == ["signed in", "signed out"]


def test_the_cookies_are_for_this_host_over_tls_and_hidden_from_scripts_and_other_sites(
    desk, browser, provider
):
    new = browser()
    begun = new.get("/sign-in/start")
    done = new.get(new.provider_answers(begun[1]["Location"]))
    for reply, name, site in ((begun, "__Host-sign-in", "lax"), (done, "__Host-console", "strict")):
        cookie = reply[1]["Set-Cookie"].lower()
        assert cookie.startswith(f"{name.lower()}=")
        attributes = set(cookie.split("; ")[1:])
        assert {"httponly", "secure", "path=/", f"samesite={site}"} <= attributes
        assert not any(one.startswith("domain") for one in attributes)
        assert reply[1]["Strict-Transport-Security"].startswith("max-age=")
    assert "max-age" not in done[1]["Set-Cookie"].lower()


def test_the_provider_is_asked_with_a_challenge_a_state_and_a_nonce_that_are_new_each_time(
    signed_in, provider
):
    provider.asked.clear()
    signed_in(ADA)
    signed_in(ADA)
    one, two = provider.asked
    assert (one["response_type"], one["client_id"], one["code_challenge_method"]) == ("code", CLIENT, "S256")
    assert one["scope"].split()[0] == "openid"
    for secret in ("state", "nonce", "code_challenge"):
        assert len(one[secret]) >= 43
        assert one[secret] != two[secret]


def test_who_is_in_no_list_sees_nothing_and_learns_what_to_tell_the_operator(desk, browser, provider):
    provider.account = EVE
    eve = browser()
    status, _, text = eve.sign_in(provider)
    assert status == 403
    assert f"login {provider.issuer} eve-3" in text
    assert "clinic" not in text.replace("clinic ·", "").replace(">clinic<", "")
    assert "__Host-console" not in eve.cookies
    assert eve.get("/releases")[0] == 303
    assert events(desk)[-1]["reason"] == "in no list"


@pytest.mark.parametrize(("account", "health"), [(CY, 403), (DI, 200), (BO, 200)])
def test_a_role_sees_its_pages_and_officers_alone_decide(signed_in, desk, account, health):
    person = signed_in(account)
    for path in ("/", "/releases", f"/releases/{WAITING}", "/certificates", "/trail", "/trail.csv"):
        assert person.get(path)[0] == 200
    assert person.get("/health")[0] == health
    assert ('href="/health"' in person.get("/")[2]) == (health == 200)
    decides = account is BO
    assert ("Deny this release" in person.get(f"/releases/{WAITING}")[2]) == decides
    for verdict in ("approve", "deny"):
        status = person.post(f"/releases/{WAITING}/{verdict}", DECISION)[0]
        assert status == (303 if decides else 403)
    assert len(shown(desk)["decisions"]) == (2 if decides else 0)
    assert person.post("/end")[0] == (404 if decides else 403)


def test_two_officers_are_two_logins(signed_in, desk, provider):
    both = [f"login {provider.issuer} {one['sub']}" for one in (ADA, BO)]
    edit(
        desk.home.folder / "policy.toml",
        {"approval = true": f"approval = true\napprovals = 2\napprovers = {json.dumps(both)}"},
    )
    ada, bo = signed_in(ADA), signed_in(BO)
    assert ada.post(f"/releases/{WAITING}/approve", DECISION)[0] == 303
    assert shown(desk)["state"] == "pending"
    again = signed_in(ADA)
    status, _, text = again.post(f"/releases/{WAITING}/approve", DECISION)
    assert status == 409
    assert "another approver" in text
    for typed in both:
        with pytest.raises(DataError, match="that of a login"):
            desk.run("approve", WAITING, "--yes", "--by", typed)
    assert shown(desk)["state"] == "pending"
    assert bo.post(f"/releases/{WAITING}/approve", DECISION)[0] == 303
    assert shown(desk)["state"] == "approved"
    assert [one["by"] for one in shown(desk)["decisions"]] == both


def test_a_person_who_is_taken_out_of_the_list_sees_nothing_more(signed_in, desk):
    ada = signed_in(ADA)
    edit(desk.home.folder / "policy.toml", {'["data-protection"]': '["others"]'})
    assert ada.get("/")[0] == 303
    assert ada.post(f"/releases/{WAITING}/approve", DECISION)[0] == 403
    assert shown(desk)["decisions"] == []


def test_a_group_whose_name_is_a_login_is_not_that_person(signed_in, desk, browser, provider):
    login = f"login {provider.issuer} ada-7"
    edit(desk.home.folder / "policy.toml", {'["data-protection"]': json.dumps([login])})
    assert "officer" in signed_in(ADA | {"groups": []}).get("/")[2]
    provider.account = EVE | {"groups": [login]}
    assert browser().sign_in(provider)[0] == 403


def signed_with_public_key(provider, claims):
    """A token with HMAC, whose secret is the public key as PEM."""
    pem = provider.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    parts = [{"alg": "HS256", "typ": "JWT", "kid": KID}, claims]
    signed = b".".join(base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=") for one in parts)
    tag = hmac.digest(pem, signed, "sha256")
    return (signed + b"." + base64.urlsafe_b64encode(tag).rstrip(b"=")).decode()


STRANGER = signing_key()
FORGED = {
    "another issuer": lambda p, c: p.sign(c | {"iss": "https://login.example.org"}),
    "another audience": lambda p, c: p.sign(c | {"aud": "another"}),
    "several audiences without the party": lambda p, c: p.sign(c | {"aud": [CLIENT, "another"]}),
    "another authorised party": lambda p, c: p.sign(c | {"azp": "another"}),
    "another nonce": lambda p, c: p.sign(c | {"nonce": "x" * 43}),
    "no nonce": lambda p, c: p.sign({name: c[name] for name in c if name != "nonce"}),
    "too old": lambda p, c: p.sign(c | {"iat": 1, "exp": int(time.time()) - 120}),
    "no end": lambda p, c: p.sign({name: c[name] for name in c if name != "exp"}),
    "of the future": lambda p, c: p.sign(c | {"iat": int(time.time()) + 3600}),
    "no subject": lambda p, c: p.sign({name: c[name] for name in c if name != "sub"}),
    "a subject with a line": lambda p, c: p.sign(c | {"sub": "ada-7\n"}),
    "no signature": lambda p, c: jwt.encode(c, None, "none"),
    "a secret that is the public key": lambda p, c: signed_with_public_key(p, c),
    "another key": lambda p, c: jwt.encode(c, STRANGER, "RS256", {"kid": KID}),
    "a key of its own in the header": lambda p, c: jwt.encode(
        c, STRANGER, "RS256", {"kid": "x", "jwk": public_jwk(STRANGER, "x")}
    ),
    "no token": lambda p, c: "not.a.token",
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_false_token_signs_nobody_in(desk, browser, provider, forge):
    honest = provider.sign
    claims = {}

    def sign(made):
        claims.update(made)
        provider.sign = honest
        return forge(provider, made)

    provider.sign = sign
    new = browser()
    status, _, text = new.sign_in(provider)
    assert (status, claims["sub"]) == (403, "ada-7")
    assert "refused" in text
    assert "__Host-console" not in new.cookies
    provider.sign = honest
    assert new.sign_in(provider)[0] == 200


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"issuer": "https://login.example.org"}, 503),
        ({"authorization_endpoint": "http://127.0.0.1/authorize"}, 503),
        ({"token_endpoint": None}, 503),
        ({"jwks_uri": "file:///etc/passwd"}, 503),
    ],
)
def test_a_provider_that_is_another_or_goes_without_tls_signs_nobody_in(
    desk, browser, provider, changes, status
):
    provider.changes = changes
    new = browser()
    assert new.sign_in(provider)[0] == status
    assert "__Host-console" not in new.cookies


def test_new_keys_of_the_provider_are_found(past, browser, authority, provider, address):
    write_section(past, authority, address, of_provider(provider, authority, past) + LISTS)
    provider.keys = []
    with serving(past, address):
        provider.keys = [public_jwk(signing_key(1024), "weak"), *[public_jwk(provider.key)]]
        assert browser().sign_in(provider)[0] == 200


def test_the_way_back_needs_the_browser_the_state_and_the_code_of_this_sign_in(desk, browser, provider):
    victim, attacker = browser(), browser()
    location = attacker.get("/sign-in/start")[1]["Location"]
    back = attacker.provider_answers(location)
    # The attacker's answer in the victim's browser, before and after it began a sign-in of its own.
    assert victim.get(back)[0] == 403
    victim.get("/sign-in/start")
    assert victim.get(back)[0] == 403
    assert "__Host-console" not in victim.cookies
    assert attacker.get(back)[0] == 200
    assert attacker.get(back)[0] == 403
    provider.back = {"state": "x"}
    assert browser().sign_in(provider)[0] == 403
    provider.back = {"iss": "https://login.example.org"}
    assert browser().sign_in(provider)[0] == 403
    provider.back = {"code": "x"}
    assert browser().sign_in(provider)[0] == 503


@pytest.mark.parametrize(("steps_s", "alive"), [([899] * 3, True), ([901], False), ([899] * 33, False)])
def test_a_session_ends_when_it_is_idle_and_after_a_day_of_work(
    past, browser, authority, provider, address, steps_s, alive
):
    """15 minutes without a request, and 8 hours in any case."""
    now = [0.0]
    write_section(past, authority, address, of_provider(provider, authority, past) + LISTS)
    with serving(past, address, lambda: now[0]):
        ada = browser()
        ada.sign_in(provider)
        for step in steps_s:
            now[0] += step
            status = ada.get("/certificates")[0]
        assert status == (200 if alive else 303)
        assert ada.post(f"/releases/{WAITING}/approve", DECISION)[0] == (303 if alive else 403)
        assert len(shown(past)["decisions"]) == (1 if alive else 0)


def test_a_sign_in_that_takes_more_than_ten_minutes_is_begun_again(
    past, browser, authority, provider, address
):
    now = [0.0]
    write_section(past, authority, address, of_provider(provider, authority, past) + LISTS)
    with serving(past, address, lambda: now[0]):
        new = browser()
        back = new.provider_answers(new.get("/sign-in/start")[1]["Location"])
        now[0] += 601
        assert new.get(back)[0] == 403
        assert new.sign_in(provider)[0] == 200


def test_attempts_from_one_address_are_limited(desk, browser):
    new = browser()
    statuses = [new.get("/sign-in/back?code=x&state=y")[0] for _ in range(31)]
    assert statuses == [403] * 30 + [429]
    assert browser().get("/sign-in/start")[0] == 429


def test_a_console_on_the_network_does_not_start_without_a_way_to_sign_in(past, authority, address):
    def start():
        with serving(past, address):
            raise AssertionError("it started")

    with pytest.raises(DataError, match="address, certificate, key, either provider or people_authority"):
        start()
    write_section(past, authority, address, "")
    with pytest.raises(DataError, match="expected either provider or people_authority, readers, officers"):
        start()
    edit(past.home.folder / "policy.toml", {"[console]": f'[console]\npeople_authority = "{authority.file}"'})
    with pytest.raises(DataError, match="expected readers, officers or operators"):
        start()
    edit(past.home.folder / "policy.toml", {"[console]": '[console]\nclient = "x"\nofficers = ["x"]'})
    with pytest.raises(DataError, match=r"client in .* go with provider"):
        start()
    with pytest.raises(DataError, match="HOST:PORT"):
        past.run("console", "--https", "8443")
    with pytest.raises(DataError, match="got both"):
        past.run("console", "--https", "0.0.0.0:8443", "--port", "1")


def test_files_that_do_not_hold_together_are_told(past, authority, address):
    write_section(past, authority, address, f'people_authority = "{authority.file}"\nofficers = ["x"]\n')
    key = authority.file.with_name("console.key")

    def start():
        with serve_network(past.home.folder, None, ("127.0.0.1", 0), None):
            raise AssertionError("it started")

    key.chmod(0o640)
    with pytest.raises(DataError, match="chmod 600"):
        start()
    key.chmod(0o600)
    key.write_bytes(authority.issue("other", "CN=other", SERVER)[1].read_bytes())
    with pytest.raises(DataError, match="expected a certificate in"):
        start()
    key.unlink()
    with pytest.raises(DataError, match="No such file"):
        start()
