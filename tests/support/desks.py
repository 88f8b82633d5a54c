"""Consoles on a network, and browsers of people who sign in there."""

import contextlib
import http.client
import re
import time
from urllib.parse import urlsplit

from dpmosaic.common.processes.stopping import Stop
from dpmosaic.party.console.network import serve_network
from support.authorities import SERVER
from support.browsing import Client
from support.providers import CLIENT, SECRET

LISTS = """
readers = ["board"]
officers = ["data-protection"]
operators = ["it"]
"""


def write_section(operator, authority, address, entries):
    """Adds [console] to the policy, with a certificate of this authority."""
    host = urlsplit(address).hostname
    certificate, key = authority.issue("console", f"CN={host}", SERVER, hosts=[host])
    policy = operator.home.folder / "policy.toml"
    section = f'\n[console]\naddress = "{address}"\ncertificate = "{certificate}"\nkey = "{key}"\n{entries}'
    policy.write_text(policy.read_text() + section)


def of_provider(provider, authority, operator):
    """The entries of a policy whose people sign in at a provider."""
    secret = operator.home.folder / "client.txt"
    secret.touch(mode=0o600)
    secret.write_text(SECRET)
    return (
        f'provider = "{provider.issuer}"\nclient = "{CLIENT}"\nclient_secret = "file:client.txt"\n'
        f'claim = "groups"\nprovider_authority = "{authority.file}"\n'
    )


@contextlib.contextmanager
def serving(operator, address, clock=time.monotonic):
    """Serves the console that the policy describes."""
    parts = urlsplit(address)
    with serve_network(operator.home.folder, None, (parts.hostname, parts.port), Stop(), clock) as told:
        assert told == address
        yield


class Browser(Client):
    """A browser that trusts an authority, and perhaps shows a certificate.

    Args:
        address: of the console.
        context: of its TLS.
    """

    def __init__(self, address, context):
        super().__init__(address)
        self.context, self.cookies, self.base = context, {}, ""

    def connection(self, authority):
        return http.client.HTTPSConnection(authority, timeout=60, context=self.context)

    def get(self, path, **headers):
        """The reply to a page's address; keeps its cookies."""
        return self._kept(self.ask("GET", path, **self._sent(headers)))

    def post(self, path, fields=None, **headers):
        """The reply to a form of a page; keeps its cookies."""
        sent = self._sent({"Origin": f"https://{self.authority}"} | headers)
        return self._kept(super().post(path, fields, **sent))

    def sign_in(self, provider=None):
        """Goes the way of a browser; the last reply."""
        reply = self.get("/sign-in/start")
        if provider is not None and reply[0] == 303:
            reply = self.get(self.provider_answers(reply[1]["Location"]))
        if reply[0] == 200:
            home = self.get("/")[2]
            self.form_token = re.search(r'name="form_token" value="([^"]+)"', home).group(1)
        return reply

    def provider_answers(self, location):
        """Visits the provider; the path by which it leads back."""
        parts = urlsplit(location)
        connection = self.connection(parts.netloc)
        connection.request("GET", f"{parts.path}?{parts.query}")
        back = urlsplit(connection.getresponse().headers["Location"])
        connection.close()
        assert back.netloc == self.authority
        return f"{back.path}?{back.query}"

    def _sent(self, headers):
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": cookies} | headers

    def _kept(self, reply):
        for line in reply[1].get_all("Set-Cookie", []):
            name, _, rest = line.partition("=")
            value = rest.partition(";")[0]
            if value.strip('"'):
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return reply
