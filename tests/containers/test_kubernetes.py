"""The manifests fit Kubernetes' own schemas, each other, the image and the command line."""

from __future__ import annotations

import copy
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from typer.main import get_command

from ludus.cli.app import app
from ludus.serve.settings import ServeSettings
from ludus.version import __version__
from tests.containers.recipe import ROOT, read_stages

FOLDER = ROOT / "deploy" / "kubernetes"
KUSTOMIZATION = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
FOUND = {
    one["kind"]: one
    for name in KUSTOMIZATION["resources"]
    for one in yaml.safe_load_all((FOLDER / name).read_text())
}
POD = FOUND["Deployment"]["spec"]["template"]["spec"]
[SERVE] = POD["containers"]
# The oldest with all that is used, and the newest that the validator knows.
VERSIONS = ("1.30", kubernetes_validate.latest_version().rpartition(".")[0])


def find(*path, kind="Deployment"):
    found = FOUND[kind]
    for step in path:
        found = found[step]
    return found


def test_every_file_is_applied():
    assert {path.name for path in FOLDER.iterdir()} == {
        "kustomization.yaml", *KUSTOMIZATION["resources"]
    }  # fmt: skip
    assert {*FOUND} == {
        "Namespace", "Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget"
    }  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", FOUND)
def test_the_schema_is_fulfilled(kind, version):
    assert kubernetes_validate.validate(FOUND[kind], version, strict=True) == version


@pytest.mark.parametrize("kind", FOUND)
def test_the_validator_finds_what_is_wrong(kind):
    """A misspelt field, and a list where an object belongs."""
    misspelt, wrong = copy.deepcopy(FOUND[kind]), copy.deepcopy(FOUND[kind])
    misspelt.setdefault("spec", {})["selektor"] = {}
    wrong["metadata"] = ["ludus-serve"]
    for one in (misspelt, wrong):
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(one, VERSIONS[-1], strict=True)


def test_all_is_in_one_namespace_and_means_the_same_pods():
    labels = find("spec", "template", "metadata", "labels")
    assert labels == find("spec", "selector", "matchLabels")
    assert labels == find("spec", "selector", kind="Service")
    assert labels == find("spec", "podSelector", "matchLabels", kind="NetworkPolicy")
    assert labels == find("spec", "selector", "matchLabels", kind="PodDisruptionBudget")
    namespaces = {one["metadata"].get("namespace") for one in FOUND.values()}
    assert namespaces == {None, KUSTOMIZATION["namespace"]}
    assert find("metadata", "name", kind="Namespace") == KUSTOMIZATION["namespace"]


def test_the_pod_has_no_rights():
    """What the namespace's security standard demands, and more."""
    assert POD["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "fsGroup": 10001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert read_stages()["ludus"].all("USER") == ["10001:10001"]
    assert SERVE["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "privileged": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert POD["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "initContainers"} & {*POD}
    assert {next(kind for kind in one if kind != "name") for one in POD["volumes"]} == {
        "emptyDir",
        "secret",
    }
    labels = find("metadata", "labels", kind="Namespace")
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_everything_that_can_grow_has_a_limit():
    assert {*SERVE["resources"]["limits"]} == {"cpu", "memory", "ephemeral-storage"}
    assert {*SERVE["resources"]["requests"]} == {"cpu", "memory", "ephemeral-storage"}
    [scratch] = [one["emptyDir"] for one in POD["volumes"] if "emptyDir" in one]
    assert scratch["sizeLimit"]


def test_the_token_is_a_file():
    [variable] = SERVE["env"]
    [mount] = [one for one in SERVE["volumeMounts"] if one["name"] == "token"]
    assert mount["readOnly"]
    assert variable == {"name": "LUDUS_SERVE_TOKEN_FILE", "value": f"{mount['mountPath']}/token"}
    [secret] = [one["secret"] for one in POD["volumes"] if one["name"] == "token"]
    assert secret["items"] == [{"key": "token", "path": "token"}]
    # Read by the group that the pod has, and by nobody else.
    assert secret["defaultMode"] == 0o440
    # The secret itself is made by who runs the cluster.
    assert "Secret" not in FOUND


def test_the_command_line_takes_the_arguments():
    """Under the names that the Service has, with the port that the probes ask."""
    _, group, *words = read_stages()["serve"].words("ENTRYPOINT")
    command = get_command(app).commands[group]
    told = command.make_context(group, [*words, *SERVE["args"]]).params
    service = find("metadata", "name", kind="Service")
    assert told["allow_host"] == [service, f"{service}.{KUSTOMIZATION['namespace']}.svc"]
    [port] = SERVE["ports"]
    assert told["port"] == port["containerPort"]
    assert [one["targetPort"] for one in find("spec", "ports", kind="Service")] == [port["name"]]
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert SERVE[name]["httpGet"] == {"path": "/health", "port": port["name"]}


def test_a_pod_has_the_time_to_end():
    settings = ServeSettings()
    pause = SERVE["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert POD["terminationGracePeriodSeconds"] > pause + 2 * settings.grace_seconds


def test_who_may_connect():
    policy = find("spec", kind="NetworkPolicy")
    assert {*policy["policyTypes"]} == {"Ingress", "Egress"}
    assert policy["egress"] == []
    [rule] = policy["ingress"]
    assert rule["ports"] == [{"port": SERVE["ports"][0]["name"], "protocol": "TCP"}]
    assert all(one["podSelector"]["matchLabels"] for one in rule["from"])


def test_a_drained_node_leaves_a_pod():
    """The budget makes no sense with one replica: it would then hold up nothing, or everything."""
    assert find("spec", "replicas") > find("spec", "maxUnavailable", kind="PodDisruptionBudget")
    assert find("spec", "sessionAffinity", kind="Service") == "ClientIP"


def test_the_image_is_this_version():
    name, _, tag = SERVE["image"].partition(":")
    [replaced] = KUSTOMIZATION["images"]
    assert (replaced["name"], replaced["newTag"]) == (name, tag)
    assert tag == __version__


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="found no kubectl")
def test_kustomize_builds_it():
    argv = ["kubectl", "kustomize", str(FOLDER)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    built = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
    assert {*built} == {*FOUND}
    [container] = built["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == f"registry.example.org/ludus-serve:{__version__}"
    for one in built.values():
        kubernetes_validate.validate(one, VERSIONS[-1], strict=True)
