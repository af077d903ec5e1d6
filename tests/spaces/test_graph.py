from __future__ import annotations

import json

import numpy as np
import pytest

from ludus.spaces import (
    Box,
    Dict,
    Discrete,
    Graph,
    GraphInstance,
    SpaceTypeError,
    SpaceValueError,
    Tuple,
)

LINKS = np.array([[0, 1], [2, 2]])


@pytest.fixture
def space():
    return Graph(Box(0, 1, (2,)), Discrete(4), seed=1)


@pytest.mark.parametrize("args", [(1, None), (None, None), (Discrete(2), 3)])
def test_bad_arguments(args):
    with pytest.raises(SpaceTypeError, match="_space"):
        Graph(*args)


def test_samples(space):
    graph = space.sample(num_nodes=5, num_edges=7)
    assert graph.nodes.shape == (5, 2)
    assert graph.edges.shape == (7,)
    assert graph.edge_links.shape == (7, 2)
    assert graph.edge_links.max() < 5
    assert graph in space
    assert not np.array_equal(graph.nodes, space.sample(num_nodes=5).nodes)
    assert space.sample(num_nodes=1).edges is None
    assert space.sample(num_nodes=1, num_edges=2).edge_links.tolist() == [[0, 0], [0, 0]]
    assert space.sample(num_edges=0).edges is None


def test_without_edges():
    space = Graph(Discrete(3), None)
    graph = space.sample()
    assert graph.edges is graph.edge_links is None
    assert graph in space
    with pytest.warns(UserWarning, match="edge space is None"):
        space.sample(num_edges=3)


def test_composite_features():
    space = Graph(Dict(a=Box(0, 1, (2,)), b=Discrete(2)), Tuple([Discrete(2)]), seed=1)
    graph = space.sample(num_nodes=3, num_edges=2)
    assert graph.nodes["a"].shape == (3, 2)
    assert graph in space


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"num_nodes": 0}, "num_nodes=0"),
        ({"num_edges": -1}, "num_edges=-1"),
        ({"mask": (), "probability": ()}, "only one of"),
    ],
)
def test_bad_sample_arguments(space, kwargs, words):
    with pytest.raises(AssertionError, match=words):
        space.sample(**kwargs)


def test_masks():
    space = Graph(Discrete(3), Discrete(3), seed=1)
    node, edge = np.array([0, 1, 0], np.int8), np.array([0, 0, 1], np.int8)
    graph = space.sample(mask=((node,) * 10, edge))
    assert set(graph.nodes) == {1}
    assert set(graph.edges) == {2}
    graph = space.sample(mask=((node,) * 10, (edge,) * 4), num_edges=4)
    assert graph.edges.tolist() == [2] * 4


def test_seeds(space):
    seeds = space.seed(3)
    sample = space.sample()
    assert len(seeds) == 3
    assert space.seed(seeds) == seeds
    np.testing.assert_array_equal(space.sample().nodes, sample.nodes)
    assert len(Graph(Discrete(2), None).seed()) == 2
    with pytest.raises(SpaceValueError, match="3 seeds.*got 2"):
        space.seed([1, 2])
    with pytest.raises(SpaceTypeError):
        space.seed("a")


@pytest.mark.parametrize(
    ("change", "member"),
    [
        ({}, True),
        ({"nodes": None}, False),
        ({"nodes": np.full((3, 2), 2, "f")}, False),
        ({"nodes": np.zeros((2, 2), "f")}, False),  # a link leads to a node that is not there
        ({"edges": np.array([1, 4])}, False),
        ({"edges": np.array([1])}, False),
        ({"edges": None}, False),
        ({"edge_links": None}, False),
        ({"edges": None, "edge_links": None}, True),
        ({"edge_links": LINKS.astype(float)}, False),
        ({"edge_links": LINKS - 1}, False),
        ({"edge_links": LINKS.tolist()}, False),
    ],
)
def test_contains(space, change, member):
    graph = GraphInstance(np.zeros((3, 2), "f"), np.array([1, 2]), LINKS)
    assert space.contains(graph._replace(**change)) is member


def test_contains_nothing_else(space):
    assert (np.zeros((3, 2), "f"), None, None) not in space
    assert GraphInstance(np.array([1]), np.array([1]), LINKS[:1]) not in Graph(Discrete(2), None)


def test_repr_equality_jsonable(space):
    assert repr(Graph(Discrete(2), None)) == "Graph(Discrete(2), None)"
    assert space == Graph(Box(0, 1, (2,)), Discrete(4))
    assert space != Graph(Box(0, 1, (2,)), None)
    samples = [space.sample(num_nodes=3, num_edges=2), space.sample(num_nodes=1)]
    plain = json.loads(json.dumps(space.to_jsonable(samples)))
    restored = space.from_jsonable(plain)
    np.testing.assert_array_equal(restored[0].nodes, samples[0].nodes)
    np.testing.assert_array_equal(restored[0].edge_links, samples[0].edge_links)
    assert restored[1].edges is None
    with pytest.raises(SpaceValueError, match="no edge space"):
        Graph(Box(0, 1, (2,)), None).from_jsonable(plain)


@pytest.mark.parametrize("numbers", [{"num_nodes": 2.0}, {"num_nodes": None}, {"num_edges": "3"}])
def test_numbers_of_nodes_and_edges_are_integers(space, numbers):
    with pytest.raises(SpaceTypeError, match="whole numbers"):
        space.sample(**numbers)
