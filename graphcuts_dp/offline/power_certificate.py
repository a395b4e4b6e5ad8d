"""What a block of noisy products proves about the largest singular value.

Let R = A - h, with unit singular vectors u, v for sigma = sigma_1(R). Take a public random start X,
shape (n, k), with independent entries that are uniform on a grid, and noisy products

    Y_t = R X_t + E_t,   X_(t+1) = a_t Y_t + r_t,   t = 0 .. T-1

(R' in place of R at every other t where R is not symmetric), where a_t is a public scale, so that
the largest singular value of X_(t+1) is 1, and r_t rounds to the grid. Everything but A and E_t is
public. The row z_t = v'X_t (u'X_t at every other t) obeys

    z_(t+1) = a_t (sigma z_t + e_t) + v'r_t,   e_t = u'E_t,

since u'R = sigma v'. Three facts make a bound of it.

1. The start is not orthogonal to v, whatever v is. Add to X noise that is uniform on a cell of the
   grid: each entry is then uniform on an interval of 2 K + 1 steps, and the inner product of such a
   column with any unit vector has a density of at most sqrt(2)/(2 K + 1) (Ball: no section of the
   cube is larger than sqrt(2)). So P(|z| <= r) for k such columns is at most V_k (sqrt(2) r/(2 K +
   1))^k, V_k the volume of the unit ball. The added noise is independent of X and moves z by less
   than sqrt(k/3) with probability 3/4 (its mean square is k/12), so for X itself

       P(|z_0| <= r) <= (4/3) V_k (sqrt(2) (r + sqrt(k/3))/(2 K + 1))^k   (in steps).

2. u is fixed before the noise is drawn, so e_t is k numbers with sub-Gaussian proxy w_t, and
   |e_t|^2 <= w_t (k + 2 sqrt(k L) + 2 L) but for probability e^-L (Hsu, Kakade, Zhang 2012). That
   is far less than ||E_t||, which has a factor of n in place of k.
3. |u'Y_t| <= ||Y_t||, which is public.

Put together: with z_0 >= r and |e_t| <= tau_t, the numbers y_t = sigma z_t - tau_t and z_(t+1) =
a_t y_t - ||r_t|| bound |u'Y_t| from below, as long as they are positive, and grow with sigma. A
sigma for which y_t > ||Y_t|| for some t is impossible. The largest that is not, is the bound.

When is the factor proven to be small? Without noise the bound is sigma_1 / theta^(1/T), where
theta, about 0.4 for k = 8, is what the start may be shorter than usual. Noise leaves that while
sigma_1 |z_0| is well above tau_0. Both shrink as 1/sqrt(n), so the condition is on sigma_1 alone:
with a budget of rho it is to be above about 34/sqrt(rho), 215 at epsilon = 1 and delta = 1e-6. So
the shortfall is proven for graphs on which the hypothesis misses a signal of that size: blocks of
density p where it has q leave sigma_1 = n |p - q|/2. Of independent edges alone sigma_1 is about
sqrt(average degree), and nothing is proven then before that is as large.

Source: Ball, *Cube slicing in R^n*, 1986; Hsu, Kakade, Zhang, *A tail inequality for quadratic
forms of subgaussian random vectors*, 2012; Kuczynski, Wozniakowski 1992, for random starts without
noise. GRU12 section 7 leaves open whether rank-one queries can be found privately; this says for
which graphs they are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from graphcuts_dp.offline.rank_one import UnitPair

_ROUNDING = 1 + 1e-9  # floats: norms and products
_HALVINGS = 80


@final
@dataclass(frozen=True, kw_only=True)
class PowerCertificate:
    """What is proven about the largest singular value of R = A - h, and about a pair. Public.

    Attributes:
        pair: unit vectors u, v that were found.
        upper: sigma_1(R) is at most this.
        lower: u'Rv is at least this.
        scale: every cut between disjoint sets is at most this times sigma_1.
        confidence: probability with which both hold at once.
    """

    pair: UnitPair
    upper: float
    lower: float
    scale: float
    confidence: float

    @property
    def factor(self) -> float:
        """F: sigma_1 is at most so many times u'Rv; infinite where nothing is proven."""
        return self.upper / self.lower if self.lower > 0 else math.inf

    @property
    def shortfall(self) -> float:
        """By how much u'Rv may stay below sigma_1."""
        return self.upper - self.lower

    @property
    def cut_bound(self) -> float:
        """No cut between disjoint sets differs by more than this between graph and hypothesis."""
        return self.scale * self.upper


@final
@dataclass(frozen=True, kw_only=True)
class NoisyStep:
    """The public numbers of one noisy product.

    Attributes:
        norm: ||Y_t||.
        noise: tau_t: |u'E_t| for a fixed unit u is at most this, but for a stated probability.
        scale: a_t.
        rounding: at least ||r_t||.
    """

    norm: float
    noise: float
    scale: float
    rounding: float


def start_radius(steps: int, columns: int, failure: float) -> float:
    """r, in steps: |v'X| for a start of K = `steps` is larger, but for a probability.

    Args:
        steps: K: entries are uniform on -K .. K.
        columns: k >= 1.
        failure: in (0, 1).
    """
    k = columns
    log_volume = k / 2 * math.log(math.pi) - math.lgamma(k / 2 + 1)
    reach = math.exp((math.log(0.75 * failure) - log_volume) / k) * (2 * steps + 1) / math.sqrt(2)
    return max(0.0, reach / _ROUNDING - math.sqrt(k / 3))


def noise_length(proxy: float, columns: int, failure: float) -> float:
    """A length that k sub-Gaussian numbers of this proxy do not pass, but for a probability.

    Args:
        proxy: E exp(t xi) <= exp(t^2 proxy/2).
        columns: k >= 1.
        failure: in (0, 1).
    """
    log_failures = math.log(1 / failure)
    most = columns + 2 * math.sqrt(columns * log_failures) + 2 * log_failures
    return math.sqrt(proxy * most) * _ROUNDING


def largest_possible(start: float, steps: Sequence[NoisyStep], most: float) -> float:
    """The largest sigma that the products leave possible.

    Args:
        start: |z_0| is at least this.
        steps: of the products, in order.
        most: that sigma cannot pass in any case.
    """
    low, high = 0.0, most
    if _possible(high, start, steps):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _possible(middle, start, steps) else (low, middle)
    return high * _ROUNDING


def _possible(sigma: float, start: float, steps: Sequence[NoisyStep]) -> bool:
    z = start
    for step in steps:
        y = sigma * z - step.noise
        if y > step.norm * _ROUNDING:
            return False
        z = step.scale * y - step.rounding
        if z <= 0:
            return True
    return True
