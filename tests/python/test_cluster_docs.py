"""docs/clusters.md and the files that it points to: what can be tried without Slurm and Kubernetes is."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from conftest import CLEAN_ENVIRONMENT

DOCS = Path(__file__).resolve().parents[2] / "docs"
SLURM = DOCS / "clusters" / "slurm.sh"
MANIFEST = DOCS / "clusters" / "kubernetes.yaml"
PAGE = DOCS / "clusters.md"

# Starts the tasks of all "nodes" here, each with its output file, and ends them when it is ended, as srun does.
SRUN = """#!/usr/bin/env bash
set -eu
tasks=1 output=
while [[ $1 == --* ]]; do
  case $1 in --ntasks=*) tasks=${1#*=} ;; --output=*) output=${1#*=} ;; esac
  shift
done
pids=()
for ((task = 0; task < tasks; task++)); do
  "$@" > "${output/\\%t/$task}" 2>&1 &
  pids+=($!)
done
trap 'kill "${pids[@]}"' TERM
for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
exit "${code:-0}"
"""

PROGRAM = """
import os, pyopencl
platform = next(p for p in pyopencl.get_platforms() if p.name == "remotecl")
names = os.environ["REMOTECL_SERVERS"].split(",")
assert all("&pin=sha256:" in name for name in names) and os.environ["REMOTECL_REQUIRED"] == "1"
print(len(names), len(platform.get_devices()))
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def slurm(tmp_path):
    """Runs the batch script as Slurm would on three nodes, all of which are this machine."""
    if not subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout.strip():
        pytest.skip("this machine has no address besides loopback")
    executable(tmp_path / "srun", SRUN)

    def run(server: str, *program: str) -> subprocess.CompletedProcess[str]:
        executable(tmp_path / "remotecl-server", server)
        settings = {
            "PATH": f"{tmp_path}:{CLEAN_ENVIRONMENT['PATH']}", "SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_ID": "17",
        }  # fmt: skip
        return subprocess.run(
            [SLURM, *program], env={**CLEAN_ENVIRONMENT, **settings}, cwd=tmp_path,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    yield run
    assert sorted(file.name for file in tmp_path.iterdir()) == ["remotecl-server", "srun"], "it cleans up"


def test_the_slurm_script_runs_a_program_on_all_nodes(slurm):
    server = f'#!/bin/sh\nexec {sys.executable} -m remotecl._daemon "$@"\n'
    result = slurm(server, sys.executable, "-c", PROGRAM)
    assert result.returncode == 0, result.stderr
    servers, devices = map(int, result.stdout.split())
    assert servers == 3
    assert devices >= 3


def test_the_slurm_script_ends_when_a_server_does_not_start(slurm):
    result = slurm("#!/bin/sh\necho no driver >&2; exit 1\n", "true")
    assert result.returncode == 1
    assert "a remotecl-server did not start:\nno driver" in result.stderr


def test_the_slurm_script_hands_on_the_programs_failure(slurm):
    server = f'#!/bin/sh\nexec {sys.executable} -m remotecl._daemon "$@"\n'
    assert slurm(server, "sh", "-c", "exit 7").returncode == 7


def test_the_slurm_script_is_sound():
    subprocess.run(["bash", "-n", SLURM], check=True)
    assert os.access(SLURM, os.X_OK)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", SLURM], check=True)


@pytest.fixture(scope="module")
def manifest() -> dict[str, dict]:
    objects = {entry["kind"]: entry for entry in yaml.safe_load_all(MANIFEST.read_text())}
    assert set(objects) == {"Service", "StatefulSet", "NetworkPolicy", "Job"}
    for entry in objects.values():
        assert entry["apiVersion"]
        assert entry["metadata"]["name"]
        assert entry["spec"]
    return objects


def test_the_manifests_parts_fit_together(manifest):
    service, servers, policy, job = (manifest[kind] for kind in ("Service", "StatefulSet", "NetworkPolicy", "Job"))
    labels = servers["spec"]["template"]["metadata"]["labels"]
    (container,) = servers["spec"]["template"]["spec"]["containers"]
    assert service["spec"]["clusterIP"] == "None", "without it the servers have no names"
    assert service["spec"]["selector"] == servers["spec"]["selector"]["matchLabels"] == labels
    assert servers["spec"]["serviceName"] == service["metadata"]["name"]
    (port,) = container["ports"]
    assert service["spec"]["ports"] == [{"name": port["name"], "port": port["containerPort"]}]
    assert container["readinessProbe"]["tcpSocket"]["port"] == port["name"]

    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    (rule,) = policy["spec"]["ingress"]
    allowed = [source["podSelector"]["matchLabels"] for source in rule["from"]]
    assert allowed == [job["spec"]["template"]["metadata"]["labels"], labels], "servers link to each other, too"
    assert rule["ports"] == [{"port": port["containerPort"], "protocol": "TCP"}]

    (program,) = job["spec"]["template"]["spec"]["containers"]
    setting = {variable["name"]: variable.get("value") for variable in program["env"]}["REMOTECL_SERVERS"]
    pin, servers_setting = program["env"]
    assert pin["valueFrom"]["secretKeyRef"]["key"] == "pin", "as keygen calls it"
    assert servers_setting["name"] == "REMOTECL_SERVERS", "Kubernetes expands what stands before it"
    name = servers["metadata"]["name"]
    assert setting.split(",") == [
        f"{name}-{index}.{service['metadata']['name']}:{port['containerPort']}?token=/keys/token&pin=$(PIN)"
        for index in range(servers["spec"]["replicas"])
    ]


def test_the_manifests_pods_have_the_token(manifest):
    for kind in ("StatefulSet", "Job"):
        pod = manifest[kind]["spec"]["template"]["spec"]
        (volume,), (container,) = pod["volumes"], pod["containers"]
        (mount,) = container["volumeMounts"]
        assert (mount["name"], mount["mountPath"]) == (volume["name"], "/keys")
        assert volume["secret"]["defaultMode"] == 0o400, "a token file that others may read is refused"


def test_the_manifests_commands_exist(manifest, run_remotecl, tmp_path):
    assert run_remotecl("keygen", str(tmp_path)).returncode == 0
    (container,) = manifest["StatefulSet"]["spec"]["template"]["spec"]["containers"]
    program, *arguments = container["command"]
    assert program == "remotecl-server"
    arguments = [word.replace("$(POD_IP):10990", "127.0.0.1:0").replace("/keys", str(tmp_path)) for word in arguments]
    start = [sys.executable, "-m", "remotecl._daemon", *arguments, "--exit-on-stdin-eof"]
    done = subprocess.run(start, env=CLEAN_ENVIRONMENT, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "listening on 127.0.0.1:" in done.stdout
    assert f"TLS with pin={(tmp_path / 'pin').read_text().strip()}" in done.stdout

    (client,) = manifest["Job"]["spec"]["template"]["spec"]["containers"]
    program, *arguments = client["command"]
    assert program == "remotecl"
    result = run_remotecl(*[word.replace("$(REMOTECL_SERVERS)", "127.0.0.1:1") for word in arguments])
    assert result.returncode == 1
    assert "127.0.0.1:1 refused the connection" in result.stderr


def test_the_pages_examples_are_well_formed():
    assert len(blocks("python")) >= 4
    assert len(blocks("sh")) >= 4
    for source in blocks("python"):
        compile(source, str(PAGE), "exec")
    for source in blocks("sh"):
        subprocess.run(["bash", "-n", "-c", source], check=True)


def test_the_pages_links_lead_somewhere():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", PAGE.read_text()) if "://" not in link]
    assert links
    for link in links:
        assert (DOCS / link).is_file(), link
