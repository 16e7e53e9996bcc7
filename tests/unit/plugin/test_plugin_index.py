"""`PluginIndex` and `PluginPolicy`: the plugins that may be used, and the one that a name means."""

from __future__ import annotations

import dataclasses

import pytest
from plugin_data import search_path, write_distribution

from etconfig.base.packages import how_to_install
from etconfig.errors import DuplicatePluginError, UnknownPluginError
from etconfig.plugin import BACKENDS, PROFILES, PluginIndex, PluginPolicy, discover_plugins


def index_of(*distributions: str, **policy) -> PluginIndex:
    return discover_plugins(search_path(*distributions), policy=PluginPolicy(**policy))


def names(index: PluginIndex) -> list[str]:
    return [entry.name for entry in index.entries(BACKENDS)]


class TestFind:
    """A name is known, unknown or claimed twice."""

    def test_an_entry_is_found_in_its_group_only(self):
        index = index_of("acme-npu")
        assert index.find(PROFILES, "acme").value == "acme_profiles:boards"
        with pytest.raises(UnknownPluginError):
            index.find(BACKENDS, "acme")

    def test_an_unknown_name_is_an_error_that_suggests_a_known_one(self):
        with pytest.raises(UnknownPluginError) as caught:
            index_of("acme-npu").find(BACKENDS, "AcmeNPU2")
        assert str(caught.value) == (
            "no installed plugin declares 'AcmeNPU2' in etconfig.backends "
            "(installed: AcmeDsp, AcmeNpu, AcmeObject, AcmeOffline); did you mean 'AcmeNpu'?"
        )

    def test_the_error_says_if_nothing_is_installed(self):
        with pytest.raises(UnknownPluginError) as caught:
            PluginIndex(()).find(BACKENDS, "A")
        assert str(caught.value) == (
            "no installed plugin declares 'A' in etconfig.backends (installed: none); "
            "install the package that declares it: for ExecuTorch's own backends, "
            f"{how_to_install('etconfig-upstream')}; for others, that of their vendor"
        )

    def test_two_distributions_that_claim_one_id_are_both_named(self):
        with pytest.raises(DuplicatePluginError) as caught:
            index_of("twin-one", "twin-two").find(BACKENDS, "TwinNpu")
        assert str(caught.value) == (
            "'TwinNpu' in etconfig.backends is claimed by twin-one 1.0 and Twin.Two 1.1; "
            'uninstall one, or choose: [plugins] prefer = { TwinNpu = "twin-one" }'
        )

    @pytest.mark.parametrize("preferred", ["Twin.Two", "twin-two", "TWIN_TWO"])
    def test_the_project_may_prefer_one(self, preferred):
        index = index_of("twin-one", "twin-two", prefer={"TwinNpu": preferred})
        assert index.find(BACKENDS, "TwinNpu").distribution == "Twin.Two"

    def test_a_preference_for_another_distribution_decides_nothing(self):
        with pytest.raises(DuplicatePluginError):
            index_of("twin-one", "twin-two", prefer={"TwinNpu": "twin-three"}).find(BACKENDS, "TwinNpu")

    def test_a_refused_twin_does_not_count(self):
        index = index_of("twin-one", "twin-two", deny=["twin-one"])
        assert index.find(BACKENDS, "TwinNpu").distribution == "Twin.Two"

    def test_the_policy_is_asked_once_about_each_entry(self, monkeypatch):
        asked = []
        monkeypatch.setattr(PluginPolicy, "refusal", lambda _policy, entry: asked.append(entry))
        index = index_of("acme-npu", "twin-one")
        for entry in index.installed:
            index.candidates(entry.group, entry.name)
            index.entries(entry.group)
        assert sorted(map(id, asked)) == sorted(map(id, index.installed))

    def test_entries_stay_in_the_order_of_the_path(self):
        index = index_of("twin-one", "acme-npu", "twin-two")
        assert [*index.entries(BACKENDS)] == [each for each in index.installed if each.group == BACKENDS]

    def test_an_index_cannot_be_changed(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            index_of().installed = ()  # type: ignore[misc]


class TestPolicy:
    """Allow and deny lists; ETCONFIG_DISABLE_PLUGINS."""

    @pytest.mark.parametrize(
        ("policy", "expected"),
        [
            ({}, ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline", "TwinNpu"]),
            ({"deny": ["AcmeDsp", "twin_one"]}, ["AcmeNpu", "AcmeObject", "AcmeOffline"]),
            ({"deny": ["Acme.NPU"]}, ["TwinNpu"]),
            ({"deny": ["acmedsp"]}, ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline", "TwinNpu"]),
            ({"deny": ["*"]}, []),
            ({"allow": ["twin-one"]}, ["TwinNpu"]),
            ({"allow": ["AcmeNpu"]}, ["AcmeNpu"]),
            ({"allow": ["acme-npu"], "deny": ["AcmeDsp"]}, ["AcmeNpu", "AcmeObject", "AcmeOffline"]),
            ({"allow": []}, []),
            ({"allow": ["*"]}, ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline", "TwinNpu"]),
        ],
    )
    def test_lists_name_distributions_or_entry_points(self, policy, expected):
        assert names(index_of("acme-npu", "twin-one", **policy)) == expected

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("", ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline"]),
            (" , ", ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline"]),
            ("AcmeDsp, AcmeObject", ["AcmeNpu", "AcmeOffline"]),
            ("Acme_NPU", []),
            ("*", []),
            ("0", ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline"]),
            ("false", ["AcmeNpu", "AcmeDsp", "AcmeObject", "AcmeOffline"]),
        ],
    )
    def test_the_environment_disables_what_it_names(self, value, expected):
        policy = PluginPolicy().with_environment({"ETCONFIG_DISABLE_PLUGINS": value})
        index = discover_plugins(search_path("acme-npu"), policy=policy)
        assert names(index) == expected

    def test_without_the_variable_nothing_is_disabled(self):
        assert PluginPolicy().with_environment({}) == PluginPolicy()

    def test_the_environment_adds_to_the_projects_lists(self):
        policy = PluginPolicy(deny=["AcmeDsp"]).with_environment({"ETCONFIG_DISABLE_PLUGINS": "AcmeObject"})
        index = discover_plugins(search_path("acme-npu"), policy=policy)
        assert names(index) == ["AcmeNpu", "AcmeOffline"]

    @pytest.mark.parametrize(
        ("policy", "reason"),
        [
            ({"deny": ["AcmeNpu"]}, "it is on the project's deny list"),
            ({"allow": ["other"]}, "it is not on the project's allow list"),
            ({"disabled": ["*"]}, "it is disabled by ETCONFIG_DISABLE_PLUGINS"),
        ],
    )
    def test_the_error_for_a_refused_plugin_says_why_it_is_refused(self, policy, reason):
        with pytest.raises(UnknownPluginError) as caught:
            index_of("acme-npu", **policy).find(BACKENDS, "AcmeNpu")
        assert caught.value.help == f"acme-npu 2.1 declares it, but {reason}"

    def test_refused_plugins_stay_in_the_list_of_installed_ones(self):
        assert len(index_of("acme-npu", deny=["*"]).installed) == 8

    def test_plugins_of_etconfig_itself_stay_unless_it_is_named(self, tmp_path):
        write_distribution(tmp_path, "etconfig-1.0.dist-info")
        for policy, expected in [
            (PluginPolicy(deny=["*"], allow=[]), ["A"]),
            (PluginPolicy(deny=["etconfig"]), []),
            (PluginPolicy(deny=["A"]), []),
        ]:
            assert names(discover_plugins([str(tmp_path)], policy=policy)) == expected

    def test_names_that_match_nothing_are_reported(self):
        index = index_of(
            "acme-npu",
            allow=["acme_npu", "AcmeNpu", "*"],
            deny=["acme-dsp"],
            disabled=["0"],
            prefer={"AcmeNpu": "acme-npu", "Unknown": "nobody"},
        )
        assert index.policy.unmatched(index.installed) == ("0", "Unknown", "acme-dsp", "nobody")
