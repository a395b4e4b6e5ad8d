"""Mistakes that somebody could make and that no rule of `mutants` finds, each with its place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A mistake that somebody could make, by hand: all of `old` within a function becomes `new`."""

    path: str
    function: str
    old: str
    new: str


BY_HAND = (
    Edit(  # the same noise for the rows and the columns of a bipartite graph
        "measurements/degrees",
        "measure_degrees",
        """    rows += sample_discrete_laplace(rate, len(rows), source)
    if columns is not rows:
        columns += sample_discrete_laplace(rate, len(columns), source)
""",
        """    noise = sample_discrete_laplace(rate, max(len(rows), len(columns)), source)
    rows += noise[: len(rows)]
    if columns is not rows:
        columns += noise[: len(columns)]
""",
    ),
    Edit(  # a threshold that is kept after its test has fired
        "distances/coordinate",
        "step_coordinate",
        "secret=tuning.test.start(source)",
        "secret=secret",
    ),
    Edit(  # a lost step that is not counted as a tangent
        "distances/coordinate", "lose_step", "state.lost + 1", "state.lost"
    ),
    Edit(  # shares that add up to more than the whole
        "privacy/level_noise", "split_budget", "int(whole.sum())", "_SHARES"
    ),
    Edit(  # levels that each get the whole budget
        "flows/strategy",
        "_noise",
        "Fraction(parts[place], _PARTS)",
        "Fraction(1)",
    ),
    Edit(  # what a vertex has kept with some is not taken off what it may keep with others
        "graph/bounded_sums", "doubled_sums", "left -= taken", "pass"
    ),
    Edit(  # a free vertex is one whose edges weigh at most twice its bound
        "graph/bounded_sums", "doubled_sums", "degrees <= left", "degrees <= 2 * left"
    ),
    Edit(  # a group is charged for one of the cells that it has with groups before it
        "measurements/vertex_changes",
        "_incidences",
        "np.concatenate([numbers, numbers[~inside]])",
        "np.concatenate([numbers, numbers[~inside] * 0])",
    ),
    Edit(  # the vertex of a pair of neighbours is taken for one monotone step
        "privacy/protection", "Protection.monotone", "steps=2", "steps=1"
    ),
    Edit(  # sums of huge weights that overflow, so that one pair changes them by more
        "measurements/cells", "_joined", "np.where(full, _LARGEST_SUM, joined)", "joined"
    ),
    Edit(  # an edge that is counted in the cell of its ends' order, which may be none
        "measurements/cells",
        "sums_of_cells",
        "a, b = np.minimum(a, b), np.maximum(a, b)",
        "pass",
    ),
    Edit(  # a sensitivity that is rounded down
        "iterative/sensing_steps",
        "Steps.__init__",
        "round(largest / self._of_coefficients)",
        "math.floor(largest / self._of_coefficients)",
    ),
    Edit(  # draws that are kept without looking at what rounding has added to small weights
        "privacy/exact_choice", "Choice._kept", " - 2 / weight - 2**-50", ""
    ),
    Edit(  # or at what the floats may be off
        "privacy/exact_choice", "Choice._kept", "math.exp(-2 * self._error - 2 * _ROUNDING)", "1"
    ),
    Edit(  # errors of any kind that count as refusals before the noise
        "interactive/running",
        "Runner._steps",
        "except GraphCutsError as problem",
        "except Exception as problem",
    ),
    Edit(  # and errors from within the step
        "interactive/running",
        "Runner._steps",
        """                self.mechanism.check(state, key.query)
            except GraphCutsError as problem:
                return made, state, problem
            state, answer = self.mechanism.step(state, key.query, truth, source)
""",
        """                state, answer = self.mechanism.step(state, key.query, truth, source)
            except Exception as problem:
                return made, state, problem
""",
    ),
    Edit(  # two draws of a block that are both read after a worker has died
        "measurements/dask_blocks", "_check_draws", "list(seen[-1][: len(draws)])", "list(draws)"
    ),
    Edit(  # a mechanism that states what was asked for, whatever it costs
        "privacy/composition",
        "stated_cost",
        "not built.keeps(epsilon=epsilon, delta=delta)",
        "False",
    ),
    Edit("privacy/composition", "check_paid", "not paid", "False"),
    Edit(  # intervals that forget that the sign of what is odd in the noise is private
        "privacy/noise_sums", "_Spectrum._failure", "np.maximum(kernel, 0)", "0 * kernel"
    ),
    Edit("privacy/noise_sums", "_Spectrum.__init__", "phase, np.pi", "phase / 2, np.pi"),
    Edit(  # an inversion without the part that makes it a bound
        "privacy/noise_sums", "_Spectrum._failure", " - part.even * cosines[:end]", ""
    ),
    Edit(  # one tail for two
        "privacy/noise_sums", "NoiseSum.exponential_radius", " + math.log(2) + log", " + log"
    ),
    Edit(  # failure probabilities that floats cannot tell from none
        "privacy/noise_sums", "equal_bits_radius", "wanted < _LEAST_INVERTED", "False"
    ),
    Edit(  # one number of ones for all
        "privacy/noise_sums", "equal_bits_radius", "range(count // 2 + 1)", "range(1)"
    ),
    Edit(  # one sign for both
        "privacy/noise_laws",
        "FlippedBit.log_mgf",
        "(s * self.step, -s * self.step)",
        "(-s * self.step,)",
    ),
    Edit("privacy/noise_laws", "FlippedBit.log_point", "float(self.epsilon) + s", "-s"),
    Edit(  # an interval without the noise of the degrees
        "release/answers",
        "CutEstimator._noise",
        "NoiseTerm(degrees.law, k, count)",
        "NoiseTerm(degrees.law, k, 0)",
    ),
    Edit(  # or of the total
        "release/answers",
        "CutEstimator._noise",
        "NoiseTerm(own, k * c, count)",
        "NoiseTerm(own, k * c, 0)",
    ),
    Edit("release/answers", "CutEstimator._rounding", "return math.fsum(moved)", "return 0.0"),
    Edit("release/answers", "log_cuts_of_sizes", "math.log(math.comb(rows + 3, 3))", "0.0"),
    Edit("release/answers", "log_cuts_of_sizes", "math.log(rows + 1)", "0.0"),
    Edit(  # a list of cuts, each of which may fail as often as all of them together
        "release/cut_replies",
        "cut_answers",
        "log_failures = math.log(together) - math.log1p(-confidence)",
        "log_failures = -math.log1p(-confidence)",
    ),
    Edit(  # cuts between different sets that count as one
        "release/answers", "distinct_cuts", "T.tobytes()", 'b""'
    ),
    Edit(  # all cuts at once, with the interval of one
        "release/cut_replies",
        "_for_all",
        "log += log_cuts(",
        "log += 0 * log_cuts(",
    ),
    Edit(  # a false value beside the noisy weight of an edge
        "measurements/kept_edges",
        "KeepPart.__call__",
        "empty = ~_among(false.places, edges)",
        "empty = np.ones(len(false.places), dtype=np.bool_)",
    ),
    Edit(  # edges first, then the false ones
        "measurements/kept_edges",
        "KeepPart.__call__",
        "order = np.argsort(places)",
        "order = np.arange(len(places))",
    ),
    Edit(  # a pair leaves one class of weight and enters another
        "measurements/weight_counts", "measure_weight_counts", "min(2, len(lower))", "1"
    ),
    Edit(  # sums between groups that nobody pays for
        "release/sparse_measure", "measure_sparse", "left -= part.epsilon", "pass"
    ),
    Edit(  # of several edges together, zCDP that grows as k
        "privacy/composition", "Cost.for_group", "steps**2", "steps"
    ),
    Edit(  # deltas of several edges that are only added up
        "privacy/composition",
        "Cost._grown_delta",
        "math.expm1(self.epsilon * steps) / math.expm1(self.epsilon)",
        "steps",
    ),
    Edit(  # a budget of each edge that leaves too much to it
        "privacy/protection", "Protection.step_budget", "self.steps**2", "self.steps"
    ),
    Edit(  # epsilon of one edge for several
        "privacy/protection", "Protection.per_step", "whole / self.steps, whole", "whole, whole"
    ),
    Edit(  # a use for other neighbours than those of its store
        "ledger/uses", "check_protection", "protects != guarantee.protects", "False"
    ),
    Edit(  # many pairs taken for one that each lies in a cell of its own
        "measurements/changes", "largest_squares", "taken**2", "taken"
    ),
    Edit(  # of an answer for several edges, the noise of one
        "interactive/per_query",
        "PerQueryNoise._sensitivity",
        "self.grid.sensitivity * self.steps",
        "self.grid.sensitivity",
    ),
    Edit(  # other queries than cuts with the noise of a thousandth of their steps
        "interactive/per_query", "PerQueryNoise.linear_noise", "LinearSteps.most", "1 << 20"
    ),
    Edit(  # coefficients that may have more steps than the noise is made for
        "graph/linear_steps",
        "LinearSteps.steps",
        "np.clip(found, -self.most, self.most)",
        "(found * 2)",
    ),
    Edit(  # weights of which the highest digits are left out
        "graph/linear_steps", "exact_sums", "range(0, 53, 16)", "range(0, 17, 16)"
    ),
    Edit(  # one vertex taken to touch one cell only
        "measurements/vertex_changes",
        "bounded_changes",
        "int(linear.max())",
        "bound",
    ),
    Edit(  # weights of an owner that are rounded up
        "graph/owned_rows",
        "OwnedRows._kept",
        "counts * at_most // shared",
        "-(-counts * at_most // shared)",
    ),
    Edit(  # one row too many of each owner
        "graph/owned_rows", "OwnedRows._kept", "< at_most", "<= at_most"
    ),
    Edit(  # mirror descent that steps up whatever the sign of the gap
        "idc/mirror_descent", "MirrorDescent.update", "eta * sign * f", "eta * f"
    ),
    Edit(  # steps of mirror descent as long as if the total weight were known exactly
        "idc/mirror_descent", "MirrorDescent._left", "return step - self.shift", "return step"
    ),
    Edit(  # a bound on updates that forgets that, too
        "idc/norms", "NormTerms.updates", "left = alpha - self.shift", "left = alpha"
    ),
    Edit(  # roots of weights in steps of the grid, of which one edge has many
        "measurements/root_degrees",
        "root_degrees",
        "scale * int(weight) // grid.largest",
        "scale * int(weight)",
    ),
    Edit(  # an upper bound of the root degrees that is the noisy sum
        "measurements/root_degrees", "buy_root_degrees", "noisy + radius + graph.shape[0]", "noisy"
    ),
    Edit(  # root degrees of a session with the noise of one step
        "interactive/mechanism",
        "OnlineMechanism.start",
        "_after_total.with_total(self._buys.steps)",
        "_after_total.with_total(1)",
    ),
    Edit(  # a nuclear norm of weights in steps of the grid, of which one rating has many
        "measurements/nuclear_norm", "nuclear_norm", "steps / grid.largest", "steps * 1.0"
    ),
    Edit(  # an upper bound of the nuclear norm that is the noisy norm
        "measurements/nuclear_norm", "buy_nuclear_norm", "noisy + radius + 2", "noisy"
    ),
    Edit(  # a nuclear norm of which nobody has checked how near it is
        "measurements/nuclear_norm", "_is_near", "turned < 0.5 and off <= _OFF", "turned < 0.5"
    ),
    Edit(  # answers that change either way, paid for as cuts are
        "privacy/protection", "Protection.either_way", "2 * self.steps", "self.steps"
    ),
    Edit(  # a rating that moves an answer by fewer steps than it does
        "interactive/asked", "Counting.of", "-(-exact // over)", "exact // over // 2"
    ),
    Edit(  # coefficients of a query that are counted before they are divided by the largest one
        "interactive/asked", "Asked.of", "scale=extent.largest", "scale=1.0"
    ),
    Edit(  # a weighted sum of the sums between groups with the noise of one edge
        "interactive/group_start",
        "buy_start",
        "rest.with_total(weighted_sensitivity(coefficients))",
        "rest.with_total(1)",
    ),
    Edit(  # a start from groups that is taken for as near as the noisy number says
        "interactive/group_start", "buy_start", "noisy + radius + 1", "noisy"
    ),
    Edit(  # a start whose sums are bought outside the budget
        "interactive/group_start",
        "without_start",
        "rest = calibration.with_total(sensitivity)[3]",
        "rest = calibration",
    ),
    Edit(  # likewise of an iterative release
        "iterative/construction",
        "IterativeConstruction.run",
        "with_total(ROOT_STEPS)",
        "with_total(1)",
    ),
    Edit(  # a list of queries that are not divided by the largest coefficient
        "distinguishers/question_list",
        "QuestionList.__init__",
        "rows / self.scale",
        "rows * 1.0",
    ),
    Edit(  # statistics in whole numbers, of which one edge changes many
        "distinguishers/question_list",
        "QuestionList._fine",
        "asked.value(graph) // asked.sensitivity(self.universe.space)",
        "asked.value(graph)",
    ),
    Edit(  # draws of a game paid for as if each hid the gain of one round
        "iterative/player_game",
        "PlayerGame._tuned",
        "(rounds - 1) * rounds * (2 * rounds - 1) // 6",
        "rounds - 1",
    ),
    Edit(  # a hidden list whose scores are not cut
        "iterative/player_game", "PlayerGame.scores", "np.clip(gains, -reach, reach)", "gains"
    ),
    Edit(  # facets that nobody has checked
        "privacy/k_norm", "_hull_facets", "top - 2 * k", "top + 2 * k"
    ),
    Edit(  # several answers with the noise that each alone would need
        "privacy/k_norm",
        "KNormNoise.of_columns",
        "columns.sum(axis=1).max(initial=1)",
        "columns.max(initial=1)",
    ),
)
