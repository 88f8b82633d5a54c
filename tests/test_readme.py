"""The README's Python, run as it stands; its shell commands are run by the gate."""

import json
import re
from pathlib import Path

from statsmodels.datasets import randhie

from dpmosaic.party.inference import infer_domain

README = Path(__file__).parent.parent / "README.md"


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    randhie.load_pandas().data.to_csv("out/people.csv", index=False)
    Path("out/domain.json").write_text(json.dumps(infer_domain("out/people.csv").to_json()))
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "total_variation" in capsys.readouterr().out


def test_every_shell_command_of_the_readme_is_run_by_the_gate():
    text = README.read_text(encoding="utf-8")
    assert len(re.findall(r"^```sh$", text, flags=re.MULTILINE)) == len(
        re.findall(r"^<!-- ci: ", text, flags=re.M)
    )
    gate = "".join(
        (README.parent / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "readme_network")
    )
    for name in set(re.findall(r"<!-- ci: (\S+) -->", text)):
        assert re.search(rf"(readme|readme_commands) {name}\b", gate), name
