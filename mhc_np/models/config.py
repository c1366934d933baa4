"""What a Transformer is made of, as one frozen record.

Chapter: chapters/02_transformer.md      Tests: tests/test_transformer.py
Symbols: D -> width, L -> num_layers, H -> num_heads, n -> num_streams
"""

from dataclasses import dataclass

from mhc_np.connections.schemes import lookup

POSITIONS = ("absolute", "relative", "rotary", "none")
HEADS = ("untied", "tied")
EMBEDDERS = ("ids", "features")
ACTIVATIONS = ("relu", "gelu")


@dataclass(frozen=True)
class ModelConfig:
    """A decoder-only, pre-RMSNorm Transformer.

    Parameters
    ----------
    num_inputs : int
        How many ids can come in; with ``embedder="features"``, how many features a token has.
    num_outputs : int
        How many symbols the logits are for.
    num_positions : int
        The longest sequence. Only ``positions="absolute"`` needs it: the others can read on.
    width : int
        D, the size of the residual stream.
    num_layers, num_loops : int
        The blocks are applied in turn, ``num_loops`` times over with the same parameters.
    num_heads : int
        H, a divisor of the width.
    mlp_ratio : int
        Width of the feed-forward block's hidden layer, in units of D.
    activation : {"relu", "gelu"}
    embedder : {"ids", "features"}
        A table with a row an id, or one linear map from features.
    positions : {"absolute", "relative", "rotary", "none"}
        A learned vector a position; a learned score bias a distance, layer and head; a rotation of queries and keys.
    max_distance : int
        Distances beyond it share one relative bias.
    num_header : int
        The first tokens of a sequence that are a header: for the relative bias they have no distance. Looking at the
        header has one bias, looking from header to header another.
    head : {"untied", "tied"}
        A matrix of its own, or the last ``num_outputs`` rows of the embedding table.
    final_norm : bool
        Whether an RMSNorm stands between the last block and the head.
    scheme : str
        How a sub-layer is joined to the stream: a key of `mhc_np.connections.SCHEMES`.
    num_streams : int
        n, the number of parallel residual streams.

    Examples
    --------
    >>> ModelConfig(num_inputs=10, num_outputs=5, num_positions=9).num_applied
    1
    """

    num_inputs: int
    num_outputs: int
    num_positions: int
    width: int = 48
    num_layers: int = 1
    num_loops: int = 1
    num_heads: int = 4
    mlp_ratio: int = 4
    activation: str = "relu"
    embedder: str = "ids"
    positions: str = "absolute"
    max_distance: int = 15
    num_header: int = 0
    head: str = "untied"
    final_norm: bool = True
    scheme: str = "residual"
    num_streams: int = 1

    def __post_init__(self):
        """Refuse what cannot be built."""
        choices = {"positions": POSITIONS, "head": HEADS, "embedder": EMBEDDERS, "activation": ACTIVATIONS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise ValueError(f"ModelConfig: want {name} in {known}, got {getattr(self, name)!r}")
        sizes = ("num_inputs", "num_outputs", "num_positions", "width", "num_layers", "num_loops", "num_heads")
        for name in (*sizes, "mlp_ratio", "max_distance", "num_streams"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise ValueError(f"ModelConfig: want {name} to be a whole number above 0, got {getattr(self, name)!r}")
        if type(self.num_header) is not int or self.num_header < 0:
            raise ValueError(f"ModelConfig: want num_header to be a whole number, 0 or more, got {self.num_header!r}")
        if not isinstance(self.final_norm, bool):
            raise ValueError(f"ModelConfig: want final_norm to be True or False, got {self.final_norm!r}")
        lookup("ModelConfig", self.scheme, self.num_streams)
        if self.width % self.num_heads:
            raise ValueError(f"ModelConfig: want a width that {self.num_heads} heads divide, got {self.width}")
        if self.positions == "rotary" and self.width // self.num_heads % 2:
            raise ValueError(f"ModelConfig: rotary wants an even head width, got {self.width // self.num_heads}")
        if self.head == "tied" and (self.embedder != "ids" or self.num_outputs > self.num_inputs):
            raise ValueError("ModelConfig: a tied head wants an id embedder with at least num_outputs rows")

    @property
    def num_applied(self):
        """How many blocks a token passes through, loops counted."""
        return self.num_layers * self.num_loops

    @property
    def reads_on(self):
        """Whether sequences may be longer than those of training."""
        return self.positions != "absolute"

    @property
    def num_offsets(self):
        """Rows of a relative-bias table."""
        return self.max_distance + 1 + (2 if self.num_header else 0)
