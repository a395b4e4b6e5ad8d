"""Single statements of DR14 chapter 5 computed from the text alone: errata, remarks and games."""

import itertools
import math

import numpy as np
import pytest
import scipy

# Learning, Definitions 5.3 and 5.4


def most_mistakes(functions):
    """How often the halving algorithm can be wrong, whoever chooses points and labels."""
    worst = 0
    for point, label in itertools.product(range(len(next(iter(functions)))), (0, 1)):
        ones = sum(f[point] for f in functions)
        kept = frozenset(f for f in functions if f[point] == label)
        if kept and label != (2 * ones >= len(functions)):
            worst = max(worst, 1 + most_mistakes(kept))
    return worst


def test_erratum_the_halving_algorithm_needs_log2():
    everything = list(itertools.product((0, 1), repeat=3))
    for size in range(1, 9):
        for functions in itertools.combinations(everything, size):
            assert most_mistakes(frozenset(functions)) <= math.log2(size)
    assert most_mistakes(frozenset(everything)) == 3 > math.log(8)


def perceptron(truth, f, alpha, share):
    """All databases of Algorithm 10, asked one query with exact answers while off by alpha."""
    found = [np.zeros_like(truth)]
    while abs(gap := f @ (truth - found[-1])) >= alpha:
        found.append(found[-1] + np.sign(gap) * share * f)
    return found


def test_erratum_after_definition_5_4_the_last_database_of_a_sequence_is_off():
    """D^L is off by alpha by property 2; the one that U makes of it is not."""
    truth, alpha = np.array([1.0]), 0.4
    *sequence, after = perceptron(truth, np.ones(1), alpha, alpha)
    assert len(sequence) == 2
    assert abs(truth - sequence[-1]) > alpha > abs(truth - after)


def test_erratum_remark_5_1_a_distinguisher_may_return_the_query_that_labels_worst():
    """One positive example, one negative; of f and 1 - f both differ by 1 between them."""
    positive, negative = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    f = np.array([1.0, 0.0])
    right = {"f": f @ (positive - negative), "1 - f": (1 - f) @ (positive - negative)}
    assert {abs(value) for value in right.values()} == {1.0}  # both may be found, with F = 0
    assert right == {"f": 1.0, "1 - f": -1.0}  # and one labels both examples wrongly


# Algorithm 8 and Theorems 5.3 to 5.7


def test_erratum_after_algorithm_8_the_steps_are_those_of_half_of_alpha():
    """2 T(alpha) steps are printed; it runs T(alpha/2) rounds, and may need more than T(alpha)."""
    truth, alpha = np.array([1.0]), 1.0
    updates = len(perceptron(truth, np.ones(1), alpha / 2, alpha / 2)) - 1
    bounds = {tolerance: truth @ truth / tolerance**2 for tolerance in (alpha, alpha / 2)}
    assert bounds[alpha] < updates <= bounds[alpha / 2]


def delta_of_randomised_responses(count, each, epsilon):
    """The least delta of so many responses, each with a loss of +-each."""
    kept = np.arange(count + 1)
    chance = scipy.stats.binom.pmf(kept, count, 1 / (1 + math.exp(-each)))
    loss = (2 * kept - count) * each
    return float((chance * -np.expm1(np.minimum(epsilon - loss, 0))).sum())


def test_erratum_theorem_5_3_needs_a_bound_on_epsilon():
    """2T = 200 steps of the prescribed epsilon_0: fine up to 8 ln(1/delta) = 110, not at 1000."""
    delta, rounds = 1e-6, 100
    for epsilon, holds in ((1.0, True), (20.0, True), (110.0, True), (1000.0, False)):
        each = epsilon / (4 * math.sqrt(rounds * math.log(1 / delta)))
        found = delta_of_randomised_responses(2 * rounds, each, epsilon)
        assert (found <= delta) is holds
    assert found > 0.99


def accuracy(rounds, *, n, epsilon, delta, log_queries, beta):
    """Theorem 5.6 with Theorem 5.3's epsilon_0, gamma = beta/(2T)."""
    each = epsilon / (4 * math.sqrt(rounds * math.log(1 / delta)))
    first = 8 * math.log(2 * rounds / beta) / (each * n)
    return max(first, 16 / (n * each) * (log_queries + math.log(2 * rounds / beta)))


COMMON = {"epsilon": 1.0, "delta": 1e-6, "log_queries": math.log(500), "beta": 0.05}


def test_erratum_theorems_5_6_and_5_7_bound_alpha_from_below():
    """T grows as alpha falls, so that an alpha near 0 is at most what is printed."""
    for alpha in (1e-3, 1e-6, 1e-9):
        assert alpha <= accuracy(4 * math.log(1e6) / (alpha / 2) ** 2, n=1000, **COMMON)


def test_erratum_theorem_5_10_has_64_and_log2():
    """n log2|X| rounds: printed are 16, the natural logarithm, and sqrt(n epsilon)."""
    for n, log_x in ((10**4, 3.0), (10**8, 20.0)):
        rounds = n * log_x / math.log(2)
        common = COMMON | {"epsilon": 0.5}
        follows = accuracy(rounds, n=n, **common)
        logs = math.log(2 * 500 * n * log_x / math.log(2) / 0.05)
        root = math.sqrt(log_x / math.log(2) * math.log(1e6))
        assert follows == pytest.approx(64 * root * logs / (math.sqrt(n) * 0.5))
        printed = 16 * math.sqrt(log_x * math.log(1e6)) * math.log(2 * 500 * n * log_x / 0.05)
        assert follows > 4 * printed / (math.sqrt(n) * 0.5) > 4 * printed / math.sqrt(n * 0.5)


def test_erratum_theorem_5_12_has_beta_outside_of_the_logarithm():
    """Its 4 sqrt(4) has the 64 that Theorem 5.7 should have; ln(2|Q||X| ||x||^2/beta) follows."""
    size, edges = 10**6, 4e5
    norm = math.sqrt(edges)

    def rounds_at(alpha):
        return (norm / edges) ** 2 * size / (alpha / 2) ** 2

    alpha = scipy.optimize.brentq(
        lambda a: accuracy(rounds_at(a), n=edges, **COMMON) - a, 1e-9, 1e9, rtol=1e-12
    )
    front = 8 * math.sqrt(norm) * (4 * size * math.log(1e6)) ** 0.25 / edges
    assert alpha == pytest.approx(front * math.sqrt(math.log(2 * 500 * rounds_at(alpha) / 0.05)))
    assert alpha * edges >= 2
    within = front * math.sqrt(math.log(2 * 500 * size * edges / 0.05))
    printed = front * math.sqrt(math.log(2 * 500 * size * edges) / 0.05)
    assert alpha <= within < printed / 3


# The median and the perceptron


def median_update(answers, value):
    """Algorithm 9 on the answers of the databases to one query."""
    middle = np.median(answers)
    return answers[answers < middle] if value < middle else answers[answers > middle]


def test_erratum_theorem_5_8_needs_log2_and_a_gap_above_alpha():
    two, alpha, truth = np.array([0.0, 1.0]), 0.4, 1.0
    assert abs(truth - np.median(two)) >= alpha
    assert len(median_update(two, truth)) == 1 > math.log(2)  # one update, for two databases
    # A net of one database that is off by alpha: property 2 of Definition 5.3 allows the update.
    net, alpha = np.array([0.0]), 1.0
    assert abs(truth - np.median(net)) >= alpha
    assert len(median_update(net, truth)) == 0  # where log2(1) = 0 updates are promised
    # Where the gap is above alpha and the value within it, a database within alpha remains.
    for middle, near, off in itertools.product((-1.5, 1.5), (-1.0, 0.0, 1.0), (-0.9, 0.9)):
        assert near in median_update(np.array([middle, middle, near]), off)


def test_erratum_algorithm_11_starts_from_a_single_database():
    """The median cannot: one update leaves nothing. U(nothing) is its net."""
    uniform, truth, alpha = np.array([0.25]), 1.0, 0.5
    assert abs(truth - np.median(uniform)) > alpha
    assert len(median_update(uniform, truth)) == 0


def test_algorithm_10_holds_for_a_normalised_database_and_for_another():
    """Theorem 5.11 with alpha in the first case, alpha' = alpha ||x||_1 in the second."""
    x, f, alpha = np.ones(16), np.ones(16), 0.1
    total = x.sum()
    bound = (np.linalg.norm(x) / total) ** 2 * len(x) / alpha**2
    for truth, tolerance in ((x / total, alpha), (x, alpha * total)):
        found = perceptron(truth, f, tolerance, tolerance / len(x))
        assert 5 < len(found) - 1 <= bound
    mixed = perceptron(x, f, alpha * total, alpha / len(x))
    assert len(mixed) - 1 > bound


def test_on_dense_graphs_the_perceptron_makes_fewer_updates_than_the_printed_bound_of_weights():
    rng = np.random.default_rng(0)
    for density in (0.02, 0.3, 0.9):
        x = rng.random(400) * (rng.random(400) < density)
        total = x.sum()
        assert math.sqrt(np.linalg.norm(x)) / total <= (1 / total) ** 0.75
    size = 10**6
    for edges in (10**4, 10**5, 9 * 10**5):
        perceptrons, weights, from_uniform = (
            size / edges,
            4 * math.log(size),
            4 * math.log(size / edges),
        )
        assert (perceptrons < weights) == (edges > size / (4 * math.log(size)))
    assert perceptrons > from_uniform  # 9 pairs of 10: the divergence at the start is ln(10/9)


# Section 5.3


def test_erratum_section_5_3_1_signs_and_stops_count():
    """One query with answers in [0, 1]: |Q|^T is 1, and an alpha-net has two members at least."""
    alpha = 0.2
    rounds = int(4 * math.log(2) / alpha**2)
    assert 1**rounds == 1
    for member in np.linspace(0, 1, 101):
        assert max(abs(member - truth) for truth in (0.0, 1.0)) > alpha
    # Multiplicative weights on two elements: what is reached depends on sign and number alone.
    reached = {
        (sign, t): 1 / (1 + math.exp(-sign * t * alpha / 2))
        for sign in (-1, 1)
        for t in range(rounds + 1)
    }
    for truth in np.linspace(0, 1, 101):
        assert min(abs(truth - answer) for answer in reached.values()) < alpha
    assert len(set(reached.values())) <= (2 * 1 + 1) ** rounds


def test_erratum_section_5_3_2_the_values_of_queries_are_needed_too():
    """With one query, or one and its complement, every distinguisher may always return the same."""
    f, alpha = np.array([1.0, 0.0]), 0.3
    hypothesis = np.array([0.5, 0.5])
    found = set()
    for data in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        gaps = [abs(query @ (data - hypothesis)) for query in (f, 1 - f)]
        assert gaps == [0.5, 0.5]
        found.add(int(np.argmax(gaps)))
    assert found == {0}  # the same transcript for both, whose answers are 1 and 0
    assert 2 * alpha < 1 - 0


def values_of(costs):
    """v^A and v^B of a matrix of costs, by two linear programs; and a min-max strategy."""

    def least(matrix):
        rows, columns = matrix.shape
        found = scipy.optimize.linprog(
            np.append(np.zeros(rows), 1),
            A_ub=np.hstack([matrix.T, -np.ones((columns, 1))]),
            b_ub=np.zeros(columns),
            A_eq=[np.append(np.ones(rows), 0)],
            b_eq=[1],
            bounds=[(0, None)] * rows + [(None, None)],
        )
        return found.fun, found.x[:-1]

    (first, strategy), (second, _) = least(costs), least(-costs.T)
    return first, -second, strategy


def test_announcing_first_costs_nothing():
    rng = np.random.default_rng(1)
    for shape in ((2, 3), (5, 4), (7, 7)):
        costs = rng.uniform(-1, 1, size=shape)
        first, second, strategy = values_of(costs)
        assert first == pytest.approx(second)
        assert (strategy @ costs).max() == pytest.approx(first)
        pure = costs.max(axis=1).min(), costs.min(axis=0).max()
        assert pure[1] <= second + 1e-9
        assert first <= pure[0] + 1e-9


def test_the_game_of_queries_that_are_not_linear_is_fair_but_needs_all_databases_of_a_strategy():
    """Costs |f(x) - f(y)|: value 0; a mixture of databases that are each wrong once is near."""
    costs = np.eye(5)  # database i is off by 1 on query i alone
    with_truth = np.vstack([costs, np.zeros(5)])
    assert values_of(with_truth)[:2] == pytest.approx((0, 0), abs=1e-9)
    uniform = np.full(5, 1 / 5)
    assert (uniform @ costs).max() == pytest.approx(1 / 5)  # a 1/5-approximate min-max strategy
    assert costs.max(axis=1).min() == 1  # of which no database is within 1/5 on all queries


def test_medians_can_be_exact_where_the_mean_cost_is_a_third():
    answers, truth = np.array([1.0, 1.0, 0.0]), 1.0
    assert np.median(answers) == truth
    assert np.abs(answers - truth).mean() == pytest.approx(1 / 3)
