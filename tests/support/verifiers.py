"""Both verifiers of certificates: the package's, and the second one in JavaScript, run by node."""

import atexit
import functools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from dpmosaic.curator import dossier
from dpmosaic.curator.certificates.verify import verify_certificate
from dpmosaic.curator.people.files import verify_people

NODE = shutil.which("node")
SCRIPT = Path(dossier.__file__).parent / "templates" / "verify.js"
needs_node = pytest.mark.skipif(NODE is None, reason="needs node on the PATH, to run the second verifier")
_DRIVER = Path(__file__).with_name("second_verifier.js")


class Refused(Exception):
    """The second verifier read no certificate, or no terms."""


@functools.cache
def _process():
    started = subprocess.Popen(
        [NODE, "--no-warnings", _DRIVER, SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(started.communicate, "")
    return started


def second(ask, **request):
    """What the second verifier answers (`second_verifier.js`).

    Raises:
        Refused: it refused what it was given.
    """
    process = _process()
    process.stdin.write(json.dumps({"ask": ask, **request}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if "refused" in answer:
        raise Refused(answer["refused"])
    return answer["found"]


def checks_of_second(form, federation, folder=None):
    """The checks of the second verifier, for a certificate as JSON values."""
    cards = json.dumps(federation.to_json())
    place = None if folder is None else str(folder)
    return second("verify", certificate=json.dumps(form), federation=cards, folder=place)


def failed_checks(certificate, federation, folder=None):
    """Names of the checks that fail; where there is node, both verifiers have to say the same.

    The second one recomputes epsilon by the privacy loss distribution to a thousandth, so that beside another
    failed check it may leave "recomputed" out.
    """
    found = {one.what for one in verify_certificate(certificate, federation, folder) if not one.passed}
    if NODE is not None:
        _check_same(found, checks_of_second(certificate.to_json(), federation, folder))
    return found


def failed_checks_of_people(folder, federation):
    """As `failed_checks`, of the folder of a release of related tables over parties."""
    found = {one.what for one in verify_people(folder, federation) if not one.passed}
    if NODE is not None:
        _check_same(found, second("folder", folder=str(folder), federation=json.dumps(federation.to_json())))
    return found


def _check_same(found, checks):
    other = {one["what"] for one in checks if one["passed"] is False}
    left = {one for one in found - other if one.rsplit(": ")[-1] == "recomputed"}
    same = other == found or (other and other < found and found - other == left)
    assert same, f"the second verifier says {other}, the first one {found}"
