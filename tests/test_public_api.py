"""The public names are pinned: adding or removing one is a decision, not an accident."""

from __future__ import annotations

import importlib

import pytest

PINNED = {
    "ludus": """
        ActionWrapper Env EnvSpec ObservationWrapper RewardWrapper SecuritySpec Space VectorizeMode
        Wrapper WrapperSpec __version__ checking classic core envs error errors experimental interop
        logger make make_vec pprint_registry register register_envs registry search seeding spaces
        spec testing utils vector wrappers
    """,
    "ludus.core": """
        ActType ActionWrapper AutoresetMode Env EnvSpec EzPickle ObsType ObservationWrapper
        RecordConstructorArgs RenderFrame RewardWrapper SecuritySpec State VectorActionWrapper
        VectorEnv VectorObservationWrapper VectorRewardWrapper VectorWrapper Wrapper WrapperActType
        WrapperObsType WrapperSpec get_env_id parse_env_id
    """,
    "ludus.vector": """
        AsyncVectorEnv AutoresetMode SyncVectorEnv VectorActionWrapper VectorEnv
        VectorObservationWrapper VectorRewardWrapper VectorWrapper utils
    """,
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
    for name in loaded.__all__:
        getattr(loaded, name)


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'maek'"):
        _ = importlib.import_module("ludus").maek
