"""The public names are pinned: adding or removing one is a decision, not an accident."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

PINNED = {
    "ludus": """
        ActionWrapper Env EnvSpec ObservationWrapper RewardWrapper SecuritySpec Space VectorizeMode
        Wrapper WrapperSpec __version__ bench checking classic codec connect core envs error errors
        experimental interop load_state logger make make_vec pprint_registry record register
        register_envs registry research sandbox save_state search seeding spaces spec testing utils
        vector wrappers
    """,
    "ludus.bench": """
        Agent AgentSpec BatchAgent BenchFolder BenchPlan BenchRun Budget Comparison Engine Limits
        Plan Result RunLimits RunSettings Settings Suite compare counted_score load_suite make_plan
        normalised_score open_store parse_agent parse_suite reference_agent resume_run run_suite
        suites verify_run write_report
    """,
    "ludus.codec": "DecodeLimits INFO_LIMITS Limits admit admit_info decode digest encode",
    "ludus.core": """
        ActType ActionWrapper AutoresetMode Env EnvSpec EzPickle ObsType ObservationWrapper
        RecordConstructorArgs RenderFrame RewardWrapper SecuritySpec State VectorActionWrapper
        VectorEnv VectorObservationWrapper VectorRewardWrapper VectorWrapper Wrapper WrapperActType
        WrapperObsType WrapperSpec get_env_id parse_env_id
    """,
    "ludus.interop": "gymnasium inspect minari parquet sb3 trl verifiers",
    "ludus.interop.sb3": "LudusVecEnv make_vec_env",
    "ludus.interop.trl": "LudusSpec",
    "ludus.record": """
        Block Check Difference Episode Event FsckReport Problem PublicKey RecordCheck RecordEpisodes
        RecordVectorEpisodes Replay Resumed Run RunReader Signature SigningKey Totals Verification
        episodes fsck generate_key load_public_key load_signing_key own_key provenance read_run
        replay sign_run totals trusted_keys trusted_keys_path verify
    """,
    "ludus.research": """
        ActionResult BaseTask EpisodeOptions MLGymEnv MlgymSettings ResearchEnv Result Rollout
        Scale Settings Task TaskConfig check_task find_tasks load_task new_task parse_agent
        register_task register_tasks resume_research rollouts run_research task_ids
        trajectory_of_run
    """,
    "ludus.sandbox": """
        Completed EgressLimits Enforcement Job Mount Policy Sandbox SandboxProcess Shell Snapshot
        SnapshotLimits Usage backends doctor load open_sandbox sweep
    """,
    "ludus.serve": "Limits Result Served Session Sessions",
    "ludus.untrusted": """
        BoxOptions BoxedEnv BoxedVectorEnv SandboxOptions SandboxedEnv SandboxedVectorEnv
        SpaceLimits
    """,
    "ludus.vector": """
        AsyncVectorEnv AutoresetMode SyncVectorEnv VectorActionWrapper VectorEnv
        VectorObservationWrapper VectorRewardWrapper VectorWrapper utils
    """,
    "ludus.view": "ViewSettings create_app export serve",
    "ludus.registration": """
        EnvSpec SecuritySpec VectorizeMode WrapperSpec add_spec current_namespace family_of
        find_highest_version find_spec get_env_id load_env_creator load_plugins make make_vec
        namespace parse_env_id plugin_namespaces pprint_registry register register_envs registry
        search spec
    """,
}


@pytest.mark.parametrize("module", PINNED)
def test_names_are_pinned(module):
    exported = importlib.import_module(module).__all__
    assert sorted(exported) == sorted(PINNED[module].split())
    assert list(exported) == sorted(exported)


@pytest.mark.parametrize("module", PINNED)
def test_names_resolve(module):
    loaded = importlib.import_module(module)
    assert [name for name in loaded.__all__ if not hasattr(loaded, name)] == []


def test_importing_ludus_loads_nothing_that_can_wait():
    program = """
import sys, ludus
waits = {f"ludus.{name}" for name in ("codec", "core.state_files", "kernel", "sandbox", "vector")}
waits |= {"cv2", "gymnasium", "jax", "llvmlite", "moviepy", "numba", "pygame", "torch"}
assert not waits & set(sys.modules), sorted(waits & set(sys.modules))
assert ludus.save_state.__module__ == ludus.load_state.__module__ == "ludus.core.state_files"
assert ludus.codec.decode(ludus.codec.encode([1, 2])) == [1, 2]
assert "ludus.sandbox" not in sys.modules
assert ludus.sandbox is sys.modules["ludus.sandbox"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'maek'"):
        _ = importlib.import_module("ludus").maek
