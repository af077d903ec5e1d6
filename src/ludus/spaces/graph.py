"""Graph: graphs with features of nodes and edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as SequenceABC
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ludus import logger
from ludus.spaces import masks
from ludus.spaces.batching import (
    batch_differing_spaces,
    batch_space,
    create_empty_array,
    differing_as_tuple,
    iterate,
)
from ludus.spaces.errors import SpaceTypeError, SpaceValueError, conversion_hint
from ludus.spaces.space import Space, is_integer, seed_with_parts

__all__ = ["Graph", "GraphInstance"]


class GraphInstance(NamedTuple):
    """A graph: the features of its nodes and edges as batches, and the nodes of each edge."""

    nodes: Any
    """A batch of members of the node space."""
    edges: Any
    """A batch of members of the edge space, or ``None``."""
    edge_links: NDArray[Any] | None
    """Integers of shape ``(number of edges, 2)``: the nodes at the ends of each edge."""


class Graph(Space[GraphInstance]):
    """Graphs whose nodes, and edges if they carry features, belong to given spaces.

    Args:
        node_space: The space of a node's features.
        edge_space: The space of an edge's features; ``None`` for graphs without edges.
        seed: Seed from which those of the two spaces are drawn, one for this space followed by one
            for each of the two, or a generator.

    Raises:
        SpaceTypeError: One of them is not a space.

    Example:
        >>> Graph(Box(0, 1, shape=(3,)), Discrete(3), seed=1).sample(num_nodes=4).nodes.shape
        (4, 3)
    """

    node_space: Space[Any]
    edge_space: Space[Any] | None
    batch_node_space: Space[Any]
    batch_edge_space: Space[Any] | None

    def __init__(
        self,
        node_space: Space[Any],
        edge_space: Space[Any] | None,
        seed: int | SequenceABC[int] | np.random.Generator | None = None,
    ) -> None:
        for name, space in (("node_space", node_space), ("edge_space", edge_space)):
            if not isinstance(space, Space) and (name == "node_space" or space is not None):
                raise SpaceTypeError(
                    f"Graph {name} is not a Space instance: got {space!r} of {type(space)}"
                    f"{conversion_hint(space)}"
                )
        self.node_space = node_space
        self.edge_space = edge_space
        self.batch_node_space = batch_space(node_space, n=1)
        self.batch_edge_space = None if edge_space is None else batch_space(edge_space, n=1)
        super().__init__(None, None, seed)  # type: ignore[arg-type]

    @property
    def is_np_flattenable(self) -> Literal[False]:
        """Never: the number of nodes and edges varies."""
        return False

    def seed(self, seed: Any = None) -> tuple[Any, ...]:
        """Seed this space, the nodes' and the edges': by ``None``, one int, or a seed for each.

        Returns:
            The seed of this space, then the results of seeding the node and the edge space.

        Raises:
            SpaceTypeError: The seed is of another type.
            SpaceValueError: The number of seeds is wrong.
        """
        edges = [] if self.edge_space is None else [self.edge_space]
        return seed_with_parts(self, seed, [self.node_space, *edges])

    def sample(
        self,
        mask: tuple[Any, Any] | None = None,
        probability: tuple[Any, Any] | None = None,
        num_nodes: int = 10,
        num_edges: int | None = None,
    ) -> GraphInstance:
        """Draw a graph.

        Args:
            mask: A pair with the mask, or ``None``, for the batches of nodes and edges. If
                ``num_edges`` is ``None``, the second one is for a single edge.
            probability: The same with probabilities.
            num_nodes: Number of nodes.
            num_edges: Number of edges; ``None`` draws one below ``num_nodes * (num_nodes - 1)``.

        Raises:
            SpaceTypeError: A number of nodes or edges is not an integer.
            SpaceValueError: There are no nodes or a negative number of edges, or a mask does not
                fit.
        """
        for name, number in (("num_nodes", num_nodes), ("num_edges", num_edges)):
            if not is_integer(number) and (name == "num_nodes" or number is not None):
                raise SpaceTypeError(f"A graph needs whole numbers, got {name}={number!r}")
        if num_nodes <= 0:
            raise SpaceValueError(f"A graph has at least one node, got num_nodes={num_nodes}")
        kind, given = masks.only_one(mask, probability)
        node_weights, edge_weights = (None, None) if given is None else given
        if num_edges is None:
            most = num_nodes * (num_nodes - 1)
            num_edges = int(self.np_random.integers(most)) if most else 0
            if edge_weights is not None:
                edge_weights = (edge_weights,) * num_edges
        elif self.edge_space is None:
            logger.warn(f"num_edges={num_edges} has no effect: the edge space is None.")
        if num_edges < 0:
            raise SpaceValueError(
                f"The number of edges must not be negative, got num_edges={num_edges}"
            )
        nodes = _sample_batch(self.node_space, num_nodes, kind, node_weights)
        if self.edge_space is None or num_edges == 0:
            return GraphInstance(nodes, None, None)
        edges = _sample_batch(self.edge_space, num_edges, kind, edge_weights)
        links = self.np_random.integers(0, num_nodes, size=(num_edges, 2), dtype=np.int32)
        return GraphInstance(nodes, edges, links)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a ``GraphInstance`` with valid features and edge links."""
        if not isinstance(x, GraphInstance) or x.nodes is None:
            return False
        nodes = list(iterate(self.batch_node_space, x.nodes))
        if not all(self.node_space.contains(node) for node in nodes):
            return False
        if x.edges is None or x.edge_links is None:
            return x.edges is None and x.edge_links is None
        links: Any = x.edge_links
        if self.edge_space is None or self.batch_edge_space is None:
            return False
        if not isinstance(links, np.ndarray):
            return False
        edges = list(iterate(self.batch_edge_space, x.edges))
        return (
            all(self.edge_space.contains(edge) for edge in edges)
            and links.dtype.kind in "iu"
            and links.shape == (len(edges), 2)
            and bool(((links >= 0) & (links < len(nodes))).all())
        )

    def to_jsonable(self, sample_n: Iterable[GraphInstance]) -> list[dict[str, Any]]:
        """Convert a batch of members to dictionaries of plain data."""
        graphs = []
        for sample in sample_n:
            graph = {"nodes": self.batch_node_space.to_jsonable([sample.nodes])}
            if sample.edges is not None and sample.edge_links is not None:
                graph["edges"] = self._edge_batches().to_jsonable([sample.edges])
                graph["edge_links"] = sample.edge_links.tolist()
            graphs.append(graph)
        return graphs

    def from_jsonable(self, sample_n: Iterable[dict[str, Any]]) -> list[GraphInstance]:
        """Convert dictionaries of plain data back to members."""
        graphs = []
        for sample in sample_n:
            nodes = self.batch_node_space.from_jsonable(sample["nodes"])[0]
            if "edges" in sample:
                edges = self._edge_batches().from_jsonable(sample["edges"])[0]
                links = np.asarray(sample["edge_links"], dtype=np.int32)
                graphs.append(GraphInstance(nodes, edges, links))
            else:
                graphs.append(GraphInstance(nodes, None, None))
        return graphs

    def _edge_batches(self) -> Space[Any]:
        if self.batch_edge_space is None:
            raise SpaceValueError(f"The graph has edges, but {self} has no edge space")
        return self.batch_edge_space

    def __repr__(self) -> str:
        return f"Graph({self.node_space}, {self.edge_space})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Graph)
            and self.node_space == other.node_space
            and self.edge_space == other.edge_space
        )


def _sample_batch(space: Space[Any], n: int, kind: str, weights: Any) -> Any:
    batch = batch_space(space, n).sample(**{kind: weights})
    # The batch draws from a copy of the generator, so advance the original.
    space.np_random.random()
    return batch


batch_differing_spaces.register(Graph, differing_as_tuple)


@create_empty_array.register(Graph)
def _empty_graphs(
    space: Graph, n: int = 1, fn: Callable[..., Any] = np.zeros
) -> tuple[GraphInstance, ...]:
    def empty() -> GraphInstance:
        nodes = create_empty_array(space.node_space, n=1, fn=fn)
        if space.edge_space is None:
            return GraphInstance(nodes, None, None)
        edges = create_empty_array(space.edge_space, n=1, fn=fn)
        return GraphInstance(nodes, edges, fn((1, 2), dtype=np.int64))

    return tuple(empty() for _ in range(n))
