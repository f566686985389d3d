"""What a result says of the network that agents talked over."""

import msgspec


class NetworkFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Sizes of the graph, and what a family has to say of it; all empty where there is none.

    `components` by their sizes; `resamples`: how often a random graph was drawn again until it was
    connected. `gamma`: how many hops a message goes, and what the run file asked for; `byzantine`:
    the ranks that lie, with the share of lies that estimators bear; `sinks`: the agents that talk
    to the server.
    """

    agents: int | None = None
    edges: int | None = None
    components: list[int] | None = None
    diameter: int | None = None
    resamples: int | None = None
    gamma: int | None = None
    gamma_asked: int | str | None = None
    byzantine: list[int] | None = None
    assumed_contamination: float | None = None
    sinks: list[int] | None = None
