from __future__ import annotations

from profile_texts import problems_of, profile, project, said

from etconfig.base.provenance import OriginKind
from etconfig.profile.layers import layers_of

BASE = """
    [profile]
    name = "base"
    [facts]
    "cpu.cores" = 4
    [instances.left]
    method = "forward"
    options.B.o = 1
"""


class TestLayers:
    """Profile chain, base first, then the project file; each is one layer."""

    def test_each_document_is_one_layer(self) -> None:
        layers = layers_of([profile(BASE), profile('profile.name = "derived"')], project("options.B.o = 2"))
        assert [(layer.kind, layer.name) for layer in layers] == [
            (OriginKind.PROFILE, "base"),
            (OriginKind.PROFILE, "derived"),
            (OriginKind.PROJECT, "etconfig.toml"),
        ]
        assert layers[0].facts["cpu.cores"].value == 4
        (declared,) = layers[0].instances
        assert (declared.name, declared.method) == ("left", "forward")
        assert declared.span.place == "p.toml:7:14"
        assert [str(a.path) for a in layers[2].assignments] == ["B.o"]

    def test_an_instance_has_the_method_that_an_earlier_document_declares(self) -> None:
        derived = profile("""
            [profile]
            name = "derived"
            [instances.left]
            options.B.o = 2
            [[when]]
            if = "net.is_up"
            instances.left.options.B.o = 3
        """)
        layers = layers_of([profile(BASE), derived], project("instances.left.options.B.o = 4"))
        paths = [str(a.path) for layer in layers for a in layer.assignments]
        assert paths == ["forward@left:B.o"] * 4

    def test_declaring_an_instance_again_for_the_same_method_is_allowed(self) -> None:
        layers = layers_of([profile(BASE), profile(BASE)])
        assert len(layers) == 2


class TestProblems:
    """An instance belongs to one method, which a document names."""

    def test_an_instance_that_nothing_declares_is_refused(self) -> None:
        derived = profile('profile.name = "q"\n[instances.right.options.B]\no = 1')
        problems = problems_of(lambda: layers_of([derived], project("instances.left.options.B.o = 1")))
        assert [said(problem) for problem in problems] == [
            "2:12-16 unknown-instance: instance 'right' has no method; "
            'write method = "..." under [instances.right]',
            "1:11-14 unknown-instance: instance 'left' has no method; "
            'write method = "..." under [instances.left]',
        ]

    def test_a_misspelled_instance_gets_a_suggestion(self) -> None:
        derived = profile("""profile.name = "q"
            [[when]]
            if = "net.is_up"
            instances.letf.options.B.o = 1""")
        (problem,) = problems_of(lambda: layers_of([profile(BASE), derived]))
        assert said(problem) == (
            "4:23-26 unknown-instance: instance 'letf' has no method; did you mean 'left'?"
        )

    def test_two_methods_for_one_instance_are_a_conflict_with_both_places(self) -> None:
        derived = profile("profile.name = 'q'\ninstances.left.method = 'decode'", "q.toml")
        (problem,) = problems_of(lambda: layers_of([profile(BASE), derived]))
        assert said(problem) == (
            "2:25-32 conflicting-instance: instance 'left' is declared for method 'decode', "
            "but p.toml:7:14 declares it for 'forward'; give one of them another name"
        )
        assert [span.file for span in problem.spans] == ["q.toml", "p.toml"]
