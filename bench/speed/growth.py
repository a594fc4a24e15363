"""How a cost grows with size: the exponent of the power law through the points."""

from collections.abc import Sequence

import numpy as np


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of log cost over log size by least squares: 1 is linear, 0 none. Raises ValueError for under two points."""
    if len(sizes) != len(costs) or len(sizes) < 2:
        raise ValueError(f"sizes, costs: {len(sizes)} and {len(costs)} points; two or more of both are needed")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])
