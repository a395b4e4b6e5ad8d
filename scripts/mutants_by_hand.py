"""Mistakes that somebody could make and that no rule of `mutants` finds, each with its place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """A mistake that somebody could make, by hand: `old` within a function becomes `new`.

    No file is named, so that the mistake survives moves: of all functions of this name in the
    package, just one has this text, and has it once.

    Attributes:
        function: qualified name: "measure_degrees", "OneSidedPair.cost".
        old: text of it.
        new: the mistake.
        killed_by: the test that fails with it, and passes without: `mutate.py --by-hand` tries. "" where only
            a whole run of `mutate.py` tells.
    """

    function: str
    old: str
    new: str
    killed_by: str = ""


BY_HAND = (
    Edit(  # the same noise for the rows and the columns of a bipartite graph
        "with_noise",
        """    noisy = [each + sample_discrete_laplace(rate, len(each), source) for each in counts]
""",
        """    noise = sample_discrete_laplace(rate, max(map(len, counts)), source)
    noisy = [each + noise[: len(each)] for each in counts]
""",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[release: bipartite]",
    ),
    Edit(  # a threshold that is kept after its test has fired
        "step_coordinate",
        "secret=tuning.test.start(source)",
        "secret=secret",
        "tests/distances/test_hr12_mechanisms.py::test_a_test_that_has_fired_goes_on_with_a_new_threshold",
    ),
    Edit(  # a lost step that is not counted as a tangent
        "lose_step",
        "state.lost + 1",
        "state.lost",
        "tests/distances/test_distance_sessions.py::test_interruptions_cannot_start_more_instances_than_were_paid_for",
    ),
    Edit(  # shares that add up to more than the whole
        "split_budget",
        "int(whole.sum())",
        "_SHARES",
        "tests/distances/test_tree_counts.py::test_shares_of_levels_add_up_to_the_budget_exactly_however_small_some_are[1.0-laplace]",
    ),
    Edit(  # levels that each get the whole budget
        "_noise",
        "Fraction(parts[place], _PARTS)",
        "Fraction(1)",
        "tests/estimate/test_strategy.py::test_one_level_gets_everything_and_many_levels_take_gaussian_noise",
    ),
    Edit(  # what a vertex has kept with some is not taken off what it may keep with others
        "doubled_sums",
        "left -= taken",
        "pass",
        "tests/graph/test_bounded_cuts.py::test_no_vertex_changes_any_query_by_more_than_the_bound[plain-4-1-1]",
    ),
    Edit(  # a free vertex is one whose edges weigh at most twice its bound
        "doubled_sums",
        "degrees <= left",
        "degrees <= 2 * left",
        "tests/graph/test_bounded_cuts.py::test_no_vertex_changes_any_query_by_more_than_the_bound[plain-4-1-1]",
    ),
    Edit(  # a group is charged for one of the cells that it has with groups before it
        "_incidences",
        "np.concatenate([numbers, numbers[~inside]])",
        "np.concatenate([numbers, numbers[~inside] * 0])",
        "tests/measure/test_bounded_cells.py::test_a_vertex_changes_a_table_by_no_more_than_is_claimed[three groups-1]",
    ),
    Edit(  # the vertex of a pair of neighbours is taken for one monotone step
        "Protect.monotone",
        "steps=2",
        "steps=1",
        "tests/session/test_vertex_sessions.py::test_tests_are_paid_for_both_steps[frieze-kannan]",
    ),
    Edit(  # sums of huge weights that overflow, so that one pair changes them by more
        "_joined",
        "np.where(full, _LARGEST_SUM, joined)",
        "joined",
        "tests/measure/test_cells.py::test_sums_are_cut_above_and_stay_neighbours",
    ),
    Edit(  # an edge that is counted in the cell of its ends' order, which may be none
        "sums_of_cells",
        "a, b = np.minimum(a, b), np.maximum(a, b)",
        "pass",
        "tests/measure/test_bounded_cells.py::test_each_cell_is_a_bounded_cut",
    ),
    Edit(  # a sensitivity that is rounded down
        "Steps.__init__",
        "round(largest / self._of_coefficients)",
        "math.floor(largest / self._of_coefficients)",
    ),
    Edit(  # draws that are kept without looking at what rounding has added to small weights
        "Choice._kept",
        " - 2 / weight - 2**-50",
        "",
        "tests/privacy/test_noise.py::test_a_draw_is_kept_with_the_exact_ratio_of_its_weights_and_never_by_its_margin_alone[logs1-1e-12]",
    ),
    Edit(  # or at what the floats may be off
        "Choice._kept",
        "math.exp(-2 * self._error - 2 * _ROUNDING)",
        "1",
        "tests/privacy/test_noise.py::test_choice_has_the_stated_probabilities_whatever_the_floats[0.4]",
    ),
    Edit(  # errors of any kind that count as refusals before the noise
        "Runner._steps",
        "except GraphCutsError as problem",
        "except Exception as problem",
        "tests/session/test_errors_within_steps.py::test_an_error_that_is_no_refusal_is_paid_for_wherever_it_comes_from",
    ),
    Edit(  # and errors from within the step
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
        "tests/session/test_errors_within_steps.py::test_an_error_at_any_line_of_a_step_is_paid_for[gaussian]",
    ),
    Edit(  # a mechanism that states what was asked for, whatever it costs
        "stated_cost",
        "not built.keeps(epsilon=epsilon, delta=delta)",
        "False",
        "tests/privacy/test_stated_costs.py::test_every_product_refuses_noise_that_costs_more_than_was_asked_for[release_graph-response-entries]",
    ),
    Edit(
        "check_paid",
        "not paid",
        "False",
        "tests/privacy/test_stated_costs.py::test_every_product_refuses_noise_that_costs_more_than_was_asked_for[release_iteratively-practical-answers]",
    ),
    Edit(  # intervals that forget that the sign of what is odd in the noise is private
        "_Spectrum._failure",
        "np.maximum(kernel, 0)",
        "0 * kernel",
        "tests/privacy/test_value_noise.py::test_every_bound_holds_for_every_number_of_ones[1-0.2]",
    ),
    Edit(
        "_Spectrum.__init__",
        "phase, np.pi",
        "phase / 2, np.pi",
        "tests/privacy/test_value_noise.py::test_the_inversion_is_prawitz_inequality_with_the_worst_phase[40-3.0-2.2]",
    ),
    Edit(  # an inversion without the part that makes it a bound
        "_Spectrum._failure",
        " - part.even * cosines[:end]",
        "",
        "tests/privacy/test_value_noise.py::test_every_bound_holds_for_every_number_of_ones[2-0.2]",
    ),
    Edit(  # one tail for two
        "NoiseSum.exponential_radius",
        " + math.log(2) + log",
        " + log",
        "tests/privacy/test_value_noise.py::test_every_bound_holds_for_every_number_of_ones[2-0.2]",
    ),
    Edit(  # failure probabilities that floats cannot tell from none
        "equal_bits_radius",
        "wanted < _LEAST_INVERTED",
        "False",
        "tests/privacy/test_value_noise.py::test_a_radius_grows_with_what_is_asked_and_never_ends[noise0]",
    ),
    Edit(  # one number of ones for all
        "equal_bits_radius",
        "range(count // 2 + 1)",
        "range(1)",
        "tests/privacy/test_value_noise.py::test_every_bound_holds_for_every_number_of_ones[2-3.0]",
    ),
    Edit(  # one sign for both
        "FlippedBit.log_mgf",
        "(s * self.step, -s * self.step)",
        "(-s * self.step,)",
        "tests/privacy/test_value_noise.py::test_the_transforms_of_a_law_are_those_of_its_probabilities[law0]",
    ),
    Edit(
        "FlippedBit.log_point",
        "float(self.epsilon) + s",
        "-s",
        "tests/privacy/test_value_noise.py::test_every_bound_holds_for_every_number_of_ones[60-3.0]",
    ),
    Edit(  # an interval without the noise of the degrees
        "MatrixEstimator._combined",
        "NoiseTerm(law, factor * c, count)",
        "NoiseTerm(law, factor * c, 0)",
        "tests/estimate/test_best_answers.py::test_the_value_is_the_best_of_all_unbiased_ones[binary-None-degrees+response-9]",
    ),
    Edit(  # or with half of it
        "MatrixEstimator._rows_of_degrees",
        "NoiseTerm(degrees.law, 1.0, size)",
        "NoiseTerm(degrees.law, 0.5, size)",
        "tests/estimate/test_best_answers.py::test_the_value_is_the_best_of_all_unbiased_ones[binary-None-degrees+response-9]",
    ),
    Edit(  # or half of the total's
        "MatrixEstimator._rows_of_total",
        "NoiseTerm(law, 1.0, 1)",
        "NoiseTerm(law, 0.5, 1)",
        "tests/estimate/test_best_answers.py::test_the_value_is_the_best_of_all_unbiased_ones[binary-None-auto-9]",
    ),
    Edit(
        "MatrixEstimator._combined",
        "slack += math.fsum(moved)",
        "slack += 0.0",
        "tests/estimate/test_best_answers.py::test_what_rounding_takes_is_in_the_interval",
    ),
    Edit(
        "log_cuts",
        "math.log(math.comb(rows + 3, 3))",
        "0.0",
        "tests/estimate/test_best_answers.py::test_shares_of_all_cuts_add_up_to_one_at_most[3-None]",
    ),
    Edit(
        "log_cuts",
        "math.log(rows + 1)",
        "0.0",
        "tests/estimate/test_best_answers.py::test_shares_of_all_cuts_add_up_to_one_at_most[2-3]",
    ),
    Edit(  # a list of cuts, each of which may fail as often as all of them together
        "AnswerOptions.log_failures",
        "math.log(together) - math",
        "-math",
        "tests/estimate/test_cut_answers.py::test_joint_intervals_count_different_cuts",
    ),
    Edit(  # cuts between different sets that count as one
        "distinct_cuts",
        "T.tobytes()",
        'b""',
        "tests/estimate/test_cut_answers.py::test_joint_intervals_count_different_cuts",
    ),
    Edit(  # all cuts at once, with the interval of one
        "AnswerOptions.log_failures",
        "log + log_cuts(",
        "log + 0 * log_cuts(",
        "tests/estimate/test_best_answers.py::test_intervals_hold_as_often_as_they_say[degrees+response-binary-None-9]",
    ),
    Edit(  # a false value beside the noisy weight of an edge
        "keep_part",
        "empty = ~_among(false.places, edges)",
        "empty = np.ones(len(false.places), dtype=np.bool_)",
        "tests/measure/test_kept_edges.py::test_the_law_is_that_of_the_filtered_matrix[weights1]",
    ),
    Edit(  # edges first, then the false ones
        "keep_part",
        "order = np.argsort(places)",
        "order = np.arange(len(places))",
        "tests/measure/test_kept_edges.py::test_large_weights_are_kept_with_their_noise[discrete-laplace-plain]",
    ),
    Edit(  # a pair leaves one class of weight and enters another
        "measure_weight_counts",
        "min(2, len(lower))",
        "1",
        "tests/release/test_sparse.py::test_classes_of_weight_cost_what_they_say",
    ),
    Edit(  # sums between groups that nobody pays for
        "measure_sparse",
        "left -= part.epsilon",
        "pass",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[release: sparse, groups, weighted]",
    ),
    Edit(  # of several edges together, zCDP that grows as k
        "Cost.for_group",
        "steps**2",
        "steps",
        "tests/privacy/test_protection.py::test_pure_costs_of_many_steps_are_those_of_randomised_response[0.01-2]",
    ),
    Edit(  # deltas of several edges that are only added up
        "Cost._grown_delta",
        "math.expm1(self.epsilon * steps) / math.expm1(self.epsilon)",
        "steps",
        "tests/privacy/test_protection.py::test_stated_costs_of_many_steps_hold_for_a_law_that_is_only_approximate[2]",
    ),
    Edit(  # a budget of each edge that leaves too much to it
        "Protect.step_budget",
        "self.steps**2",
        "self.steps",
        "tests/privacy/test_protection.py::test_the_budget_of_a_step_keeps_that_of_all[True-1.0-1e-06-2]",
    ),
    Edit(  # epsilon of one edge for several
        "Protect.per_step",
        "whole / self.steps, whole",
        "whole, whole",
        "tests/privacy/test_protection.py::test_each_step_has_its_part_of_epsilon_exactly",
    ),
    Edit(  # a use for other neighbours than those of its store
        "check_protection",
        "protects != guarantee.protects",
        "False",
        "tests/release/test_vertex_flows.py::test_a_store_of_vertices_refuses_edges",
    ),
    Edit(  # many pairs taken for one that each lies in a cell of its own
        "largest_squares",
        "taken**2",
        "taken",
        "tests/privacy/test_protection.py::test_the_largest_squares_are_those_of_a_search",
    ),
    Edit(  # of an answer for several edges, the noise of one
        "PerQueryNoise._sensitivity",
        "self.grid.sensitivity * self.steps",
        "self.grid.sensitivity",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: three edges]",
    ),
    Edit(  # other queries than cuts with the noise of a thousandth of their steps
        "PerQueryNoise.linear_noise",
        "LinearSteps.most",
        "1 << 20",
        "tests/session/test_linear_queries.py::test_noise_is_that_of_a_cut_times_the_largest_coefficient[laplace]",
    ),
    Edit(  # coefficients that may have more steps than the noise is made for
        "LinearSteps.steps",
        "np.clip(found, -self.most, self.most)",
        "(found * 2)",
        "tests/session/test_linear_queries.py::test_counts_are_exact_whatever_the_size_of_the_numbers[plain]",
    ),
    Edit(  # weights of which the highest digits are left out
        "exact_sums",
        "range(0, 53, 16)",
        "range(0, 17, 16)",
        "tests/offline/test_question_list.py::test_sums_of_products_are_exact",
    ),
    Edit(  # one vertex taken to touch one cell only
        "bounded_changes",
        "int(linear.max())",
        "bound",
        "tests/measure/test_bounded_cells.py::test_a_vertex_changes_a_table_by_no_more_than_is_claimed[plain-1]",
    ),
    Edit(  # weights of an owner that are rounded up
        "OwnedRows._kept",
        "counts * at_most // shared",
        "-(-counts * at_most // shared)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[owners: flows, gaussian]",
    ),
    Edit(  # one row too many of each owner
        "OwnedRows._kept",
        "< at_most",
        "<= at_most",
        "tests/graph/test_owned_rows.py::test_an_owner_is_a_path_of_at_most_k_steps[edges-1-False]",
    ),
    Edit(  # mirror descent that steps up whatever the sign of the gap
        "MirrorDescentRule.update",
        "eta * sign * f",
        "eta * f",
        "tests/learn/test_mirror_descent.py::test_p_2_is_frieze_kannan[None-0.0-bipartite]",
    ),
    Edit(  # steps of mirror descent as long as if the total weight were known exactly
        "MirrorDescentRule._left",
        "return step - self.shift",
        "return step",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: mirror-descent, tight]",
    ),
    Edit(  # a bound on updates that forgets that, too
        "NormTerms.updates",
        "left = alpha - self.shift",
        "left = alpha",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: mirror-descent, tight]",
    ),
    Edit(  # roots of weights in steps of the grid, of which one edge has many
        "root_degrees",
        "scale * int(weight) // grid.largest",
        "scale * int(weight)",
        "tests/measure/test_root_degrees.py::test_changing_a_weight_moves_the_sum_by_1024_steps_at_most",
    ),
    Edit(  # an upper bound of the root degrees that is the noisy sum
        "buy_root_degrees",
        "noisy + radius + graph.shape[0]",
        "noisy",
        "tests/measure/test_root_degrees.py::test_what_is_bought_is_not_below_the_truth_where_the_noise_is_within_its_radius",
    ),
    Edit(  # root degrees of a session with the noise of one step
        "OnlineMechanism.start",
        "budget.with_total(steps)",
        "budget.with_total(1)",
    ),
    Edit(  # a nuclear norm of weights in steps of the grid, of which one rating has many
        "nuclear_norm",
        "steps / grid.largest",
        "steps * 1.0",
        "tests/measure/test_nuclear_norm.py::test_changing_a_weight_moves_the_count_by_at_most_what_is_charged",
    ),
    Edit(  # an upper bound of the nuclear norm that is the noisy norm
        "buy_nuclear_norm",
        "noisy + radius + 2",
        "noisy",
        "tests/measure/test_nuclear_norm.py::test_what_is_bought_is_not_below_the_truth_where_the_noise_is_within_its_radius",
    ),
    Edit(  # a nuclear norm of which nobody has checked how near it is
        "_is_near",
        "turned < 0.5 and off <= _OFF",
        "turned < 0.5",
        "tests/measure/test_nuclear_norm.py::test_the_check_finds_what_is_wrong",
    ),
    Edit(  # answers that change either way, paid for as cuts are
        "Protect.either_way",
        "2 * self.steps",
        "self.steps",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: linear queries, mirror-descent]",
    ),
    Edit(  # a rating that moves an answer by fewer steps than it does
        "Counting.of",
        "-(-exact // over)",
        "exact // over // 2",
        "tests/session/test_learning_linear_queries.py::test_counts_are_the_exact_ones_rounded_down_and_change_by_the_sensitivity",
    ),
    Edit(  # coefficients of a query that are counted before they are divided by the largest one
        "Counted.of",
        "largest=extent.largest",
        "largest=1.0",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: linear queries, mirror-descent]",
    ),
    Edit(  # a weighted sum of the sums between groups with the noise of one edge
        "buy_start",
        "rest.with_total(weighted_sensitivity(coefficients))",
        "rest.with_total(1)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: start from groups]",
    ),
    Edit(  # a start from groups that is taken for as near as the noisy number says
        "buy_start",
        "noisy + radius + 1",
        "noisy",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: start from groups]",
    ),
    Edit(  # a start whose sums are bought outside the budget
        "OnlineMechanism._purchases",
        "bought + 2 * (self.begins == GROUPS)",
        "bought + (self.begins == GROUPS)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: start from groups]",
    ),
    Edit(  # likewise of an iterative release
        "IterativeConstruction.run",
        "with_total(ROOT_STEPS)",
        "with_total(1)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[iterative: root degrees]",
    ),
    Edit(  # a list of queries that are not divided by the largest coefficient
        "QuestionList.__init__",
        "rows / self.scale",
        "rows * 1.0",
        "tests/offline/test_question_list.py::test_answers_are_those_of_the_queries_over_the_largest_coefficient[plain]",
    ),
    Edit(  # statistics in whole numbers, of which one edge changes many
        "QuestionList._fine",
        "asked.value(graph) // asked.sensitivity(self.universe.space)",
        "asked.value(graph)",
        "tests/offline/test_question_list.py::test_statistics_are_counted_in_their_steps",
    ),
    Edit(  # draws of a game paid for as if each hid the gain of one round
        "PlayerGame._tuned",
        "(rounds - 1) * rounds * (2 * rounds - 1) // 6",
        "rounds - 1",
        "tests/theorems/test_dr14_player_game.py::test_the_average_play_is_within_the_bound[both-2000-1]",
    ),
    Edit(  # a hidden list whose scores are not cut
        "PlayerGame.scores",
        "np.clip(gains, -reach, reach)",
        "gains",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[player: query]",
    ),
    Edit(  # facets that nobody has checked
        "_hull_facets",
        "top - 2 * k",
        "top + 2 * k",
        "tests/privacy/test_level_noise.py::test_the_norm_is_that_of_the_body_but_for_a_thousandth[all of two]",
    ),
    Edit(  # several answers with the noise that each alone would need
        "KNormNoise.of_columns",
        "columns.sum(axis=1).max(initial=1)",
        "columns.max(initial=1)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[answers: k-norm]",
    ),
    Edit(  # noise of one sign only
        "sample_discrete_laplace",
        "block -= sample_geometric(rate, len(block), source)",
        "block -= 0 * sample_geometric(rate, len(block), source)",
        "tests/privacy/test_entropy.py::test_samples[laplace]",
    ),
    Edit(  # the divergence of another order
        "renyi_cost",
        "order * cost.rho",
        "cost.rho",
        "tests/privacy/test_composition.py::test_divergences_of_zcdp_grow_with_the_order_and_unknown_ones_are_infinite",
    ),
    Edit(  # bits that flip as rarely as for twice epsilon
        "sample_flips",
        "_flip_sampler(epsilon)",
        "_flip_sampler(2 * epsilon)",
        "tests/privacy/test_entropy.py::test_samples[flips]",
    ),
    Edit(  # a delta that is spent twice
        "compose",
        "zcdp_epsilon(shared, delta=delta - spent)",
        "zcdp_epsilon(shared, delta=delta)",
        "tests/privacy/test_composition.py::test_costs_without_zcdp_are_added_with_their_delta",
    ),
    Edit(  # proposals kept for half the variance
        "sample_discrete_gaussian",
        "_kept(proposals, variance, source)",
        "_kept(proposals, variance / 2, source)",
        "tests/privacy/test_entropy.py::test_samples[gaussian]",
    ),
    Edit(  # a geometric variable without its highest digits
        "_geometric_block",
        "in others",
        "in others[:-1]",
        "tests/privacy/test_entropy.py::test_samples[geometric]",
    ),
    Edit(  # a stated cost that is rounded to the nearest
        "rounded_up",
        "nearest if nearest >= number else math.nextafter(nearest, math.inf)",
        "nearest",
        "tests/privacy/test_composition.py::test_a_stated_epsilon_is_never_below_the_exact_one",
    ),
    Edit(  # pairs without an edge, all with the weight of the threshold
        "sample_exceeding",
        "sample_geometric(rate, len(places), source) + threshold",
        "0 * sample_geometric(rate, len(places), source) + threshold",
        "tests/privacy/test_noise.py::test_the_law_is_that_of_filtered_noise[sample_exceeding-1]",
    ),
    Edit(  # a calibration that is rounded to less noise
        "zcdp_rho",
        "(1 - _SLACK)",
        "(1 + 1e-6)",
        "tests/privacy/test_composition.py::test_rho_is_rounded_down_and_no_other_order_is_better[1e-15-0.01]",
    ),
    Edit(  # a doubtful sample decided by too few bits
        "_Inversion._extend",
        "prefix > self._cdf(value, bits)",
        "prefix > self._cdf(value, 64)",
        "tests/privacy/test_noise.py::test_numbers_around_a_cut_by_big_integers[sampler0-<lambda>-values0]",
    ),
    Edit(  # an edge taken to change one degree
        "measure_degrees",
        "sensitivity=change,",
        "sensitivity=change // 2,",
        "tests/privacy/test_stated_costs.py::test_every_product_states_at_most_what_was_asked_for[release_graph-auto]",
    ),
    Edit(  # likewise, and it states half of what it costs
        "measure_degrees",
        "change = 2 * grid.sensitivity_steps",
        "change = grid.sensitivity_steps",
        "tests/measure/test_drawn_noise.py::test_degrees",
    ),
    Edit(  # the first use that counts for nothing
        "begin_use",
        "[other.cost for other in before]",
        "[other.cost for other in before[1:]]",
        "tests/ledger/test_uses.py::test_every_product_is_refused_beyond_the_budget_before_it_draws[release]",
    ),
    Edit(  # a total with less noise where weights have finer steps
        "measure_total",
        "sensitivity=change, epsilon=epsilon",
        "sensitivity=1, epsilon=change * epsilon",
        "tests/privacy/test_stated_costs.py::test_every_product_states_at_most_what_was_asked_for[release_graph-auto]",
    ),
    Edit(  # a store that says it has spent its largest use
        "total_cost",
        "sum(pure, Fraction(0))",
        "max(pure)",
        "tests/ledger/test_uses.py::test_releases_and_sessions_share_one_budget",
    ),
    Edit(  # every part of the matrix with the same source
        "randomized_response",
        "source.split(len(bounds))",
        "[source] * len(bounds)",
        "tests/privacy/test_entropy.py::test_measurements_of_a_release[simple-binary-response]",
    ),
    Edit(  # a release that is not charged
        "charged",
        "if store is None:",
        'if store is None or kind == "release":',
        "tests/ledger/test_uses.py::test_every_product_is_charged_and_shown_with_time_and_user[release]",
    ),
    Edit(  # the last class without noise
        "with_noise",
        "sample_discrete_laplace(rate, len(each), source)",
        "np.append(sample_discrete_laplace(rate, len(each) - 1, source), 0)",
        "tests/measure/test_drawn_noise.py::test_contributions",
    ),
    Edit(  # what is learnt is not charged
        "release_iteratively",
        "store=store,",
        "store=None,",
        "tests/ledger/test_uses.py::test_every_product_is_charged_and_shown_with_time_and_user[answers]",
    ),
    Edit(  # a weighted sum without noise
        "buy_weighted_sum",
        "exact // grid.largest + noise.draw(source)",
        "exact // grid.largest",
        "tests/measure/test_drawn_noise.py::test_sums_between_groups",
    ),
    Edit(  # distances that are not charged
        "answer_distances",
        """with charged(
        store,""",
        """with charged(
        None,""",
        "tests/ledger/test_uses.py::test_every_product_is_charged_and_shown_with_time_and_user[distances]",
    ),
    Edit(  # one noise for all sums between groups
        "buy_group_sums",
        "sums + noise.draw_many(len(sums), source)",
        "sums + noise.draw(source)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: start from groups]",
    ),
    Edit(  # coefficients below 0 that do not count
        "weighted_sensitivity",
        "np.abs(np.asarray(coefficients)).max()",
        "np.asarray(coefficients).max()",
        "tests/measure/test_group_sums.py::test_one_pair_moves_one_sum_by_one_weight_and_the_weighted_sum_by_its_largest_coefficient[False]",
    ),
    Edit(  # every level with the noise of the first
        "measure_cells",
        "noise.draw(number, cells.size(place), source)",
        "noise.draw(0, cells.size(place), source)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[flows: gaussian]",
    ),
    Edit(  # a job that is not charged
        "execute",
        """with charged(
        store,""",
        """with charged(
        None,""",
        "tests/release/test_sparse.py::test_a_store_is_charged",
    ),
    Edit(  # kept edges with their true weights
        "keep_part",
        "noisy += sample_discrete_laplace(distribution.rate, len(noisy), source)",
        "sample_discrete_laplace(distribution.rate, len(noisy), source)",
        "tests/measure/test_kept_edges.py::test_the_law_is_that_of_the_filtered_matrix[weights1]",
    ),
    Edit(  # an answer without noise
        "PerQueryNoise.step",
        "truth + noise.draw(source)",
        "truth",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: gaussian]",
    ),
    Edit(  # edges that are kept whatever their noise
        "keep_part",
        "reached = noisy >= threshold",
        "reached = np.ones(len(noisy), dtype=np.bool_)",
        "tests/measure/test_kept_edges.py::test_the_law_is_that_of_the_filtered_matrix[weights1]",
    ),
    Edit(  # answers that are not counted
        "PerQueryNoise.step",
        "queries=state.queries + 1",
        "queries=state.queries",
        "tests/session/test_plain_mechanisms.py::test_sessions_of_every_method_keep_their_intervals_and_end[gaussian]",
    ),
    Edit(  # one owner taken to change a score by less
        "share_sensitivity",
        "return max(",
        "return min(",
        "tests/release/test_contributions.py::test_one_owner_changes_one_count_by_one_and_no_score_by_more_than_stated[edges]",
    ),
    Edit(  # a charge that comes after the noise
        "charged",
        """        use = begin_use(ledger, kind=kind, parameters=parameters, cost=cost, guarantee=guarantee)
    yield
""",
        """        yield
        use = begin_use(ledger, kind=kind, parameters=parameters, cost=cost, guarantee=guarantee)
""",
        "tests/ledger/test_uses.py::test_the_charge_is_on_the_disk_before_the_noise",
    ),
    Edit(  # an owner at a bound counted above it
        "class_counts",
        'side="left"',
        'side="right"',
        "tests/release/test_contributions.py::test_the_table_is_right_and_its_noise_as_stated",
    ),
    Edit(  # a conversion that is better than the theorem
        "zcdp_epsilon",
        "(math.log(a) + math.log(delta)) / excess",
        "(2 * math.log(a) + math.log(delta)) / excess",
        "tests/privacy/test_composition.py::test_epsilon_and_delta_are_inverse[1e-12-1e-06]",
    ),
    Edit(  # a degree bound chosen with twice the epsilon
        "pick_bound",
        "rate * score",
        "2 * rate * score",
        "tests/measure/test_degree_bounds.py::test_draws_have_the_law",
    ),
    Edit(  # likewise, and it states what it has cost
        "score_rate",
        "epsilon / 2",
        "epsilon",
        "tests/release/test_degree_bound.py::test_a_bound_is_chosen_and_used_from_one_store",
    ),
    Edit(  # a threshold whose noise is kept after it has fired
        "OneSidedPair.restart",
        "(fresh, secret[1]) if sign > 0 else (secret[0], fresh)",
        "secret",
        "tests/session/test_online_mechanism.py::test_bought_answers_are_the_true_ones_and_fresh_noise_of_the_stated_size",
    ),
    Edit(  # steps of a vertex that count half
        "Grid.of_vertices",
        "math.floor(bound / unit)",
        "math.floor(bound / unit) // 2",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[session: vertex]",
    ),
    Edit(  # a pair that changes by more steps than are paid for
        "Grid.of",
        "math.ceil(largest / unit)",
        "math.floor(largest / unit) - 1",
        "tests/session/test_plain_mechanisms.py::test_grids_count_in_steps_and_never_raise_the_sensitivity",
    ),
    Edit(  # a job whose cost is for smaller changes than the data make
        "Job.bounded",
        "getattr(data, fact, None) != getattr(self.public, fact, None)",
        "False",
        "tests/release/test_job.py::test_a_job_is_for_data_of_its_schema_alone[another cap]",
    ),
    Edit(  # people who move half as far
        "PerQuery.build",
        "(np.floor(metric.eccentricities / step) + 1)",
        "np.floor(metric.eccentricities / step / 2)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[distances: per-query, laplace]",
    ),
    Edit(  # all of delta for one criterion of several
        "admits",
        "Fraction(delta) / 2 * (1 + _TWELVE_DIGITS)",
        "Fraction(delta) * (1 + _TWELVE_DIGITS)",
        "tests/privacy/test_composition.py::test_what_is_admitted_is_admitted_at_every_step_before[8.0-0.01]",
    ),
    Edit(  # uses for other neighbours on one store
        "begin_use",
        """    check_protection(ledger, guarantee)
""",
        "",
        "tests/release/test_vertex_flows.py::test_a_store_of_vertices_refuses_edges",
    ),
    Edit(  # one noise for all distances
        "PerQuery.answers",
        "sums + self.noise.draw(0, len(sums), source)",
        "sums + self.noise.draw(0, 1, source)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[distances: per-query, laplace]",
    ),
    Edit(  # a budget that each use may spend
        "admits",
        "sum(pure, Fraction(0)) <= most",
        "max(pure) <= most",
        "tests/privacy/test_composition.py::test_pure_costs_add_up_to_the_last_digit_of_the_budget",
    ),
    Edit(  # zCDP that does not add up
        "Cost.times",
        "rounded_up(Fraction(self.rho) * count)",
        "self.rho",
        "tests/privacy/test_stated_costs.py::test_costs_of_many_are_the_sums_of_each",
    ),
    Edit(  # a member of the net chosen with twice the epsilon
        "Net.job",
        "rate = task.protect.per_step(task.epsilon) / (2 * net.sensitivity)",
        "rate = task.protect.per_step(task.epsilon) / net.sensitivity",
        "tests/privacy/test_stated_costs.py::test_every_product_states_at_most_what_was_asked_for[release_iteratively-net]",
    ),
    Edit(  # all of delta for the Renyi criterion
        "renyi_budget",
        " - math.log(2)",
        "",
        "tests/privacy/test_composition.py::test_the_order_gives_nearly_what_half_of_delta_allows[0.1-1e-09]",
    ),
    Edit(  # a threshold without noise
        "OneSidedPair.run",
        "math.ceil(self.threshold + estimate) + secret[0]",
        "math.ceil(self.threshold + estimate)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[gap test: one-sided]",
    ),
    Edit(  # the true graph beside the noisy matrix
        "Job.run",
        "return self.finish(drawn, source, progress)",
        "return replace(self.finish(drawn, source, progress), _graph=bounded)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[release: response, binary]",
    ),
    Edit(  # a threshold with half the noise
        "OneSidedPair.start",
        "self.threshold_rate, 2, source",
        "2 * self.threshold_rate, 2, source",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[gap test: one-sided]",
    ),
    Edit(  # one instance too few is paid for
        "OneSidedPair.cost",
        "rho = rounded_up((updates + 2)",
        "rho = rounded_up((updates + 1)",
        "tests/session/test_calibrations.py::test_a_pair_of_tests_is_charged_for_every_instance_that_it_starts",
    ),
    Edit(  # likewise of a pure cost
        "OneSidedPair.cost",
        "pure = (updates + 2)",
        "pure = (updates + 1)",
        "tests/session/test_calibrations.py::test_a_pair_of_tests_is_charged_for_every_instance_that_it_starts",
    ),
    Edit(  # answers taken to change one way
        "SharedThreshold.cost",
        "self.threshold_rate + 2 * self.query_rate",
        "self.threshold_rate + self.query_rate",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[gap test: shared threshold]",
    ),
    Edit(  # weights of a synthetic graph that are not cut to what is possible
        "_post_process",
        """_synthetic_graph(
            (weights_of(rows, cap) for rows in _few_rows(made.matrix)),""",
        """_synthetic_graph(
            (rows for rows in _few_rows(made.matrix)),""",
        "tests/release/test_release_graph.py::test_the_certificate_is_of_the_synthetic_graph_as_released",
    ),
    Edit(  # likewise of one threshold for both sides
        "SharedThreshold.restart",
        "return self.start(source)",
        "return secret",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[gap test: shared threshold]",
    ),
    Edit(  # a comparison paid for as if truths changed by one step
        "NoisyComparison.cost",
        "rounded_up(sensitivity * self.rate)",
        "rounded_up(self.rate)",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[gap test: noisy comparison]",
    ),
    Edit(  # a comparison with the true answer
        "NoisyComparison.run",
        "truth + int(sample_discrete_laplace(self.rate, 1, source)[0])",
        "truth",
        "tests/golden/test_golden.py::test_a_result_is_what_it_was_and_its_files_are[gap test: noisy comparison]",
    ),
    Edit(  # half the noise of a private norm
        "buy_root_degrees",
        "noise.draw(source)",
        "noise.draw(source) // 2",
        "tests/measure/test_drawn_noise.py::test_norms",
    ),
    Edit(  # half the noise on one of two sides
        "with_noise",
        "sample_discrete_laplace(rate, len(each), source) for each in counts",
        "sample_discrete_laplace(rate, len(each), source) // (1 + k) for k, each in enumerate(counts)",
        "tests/measure/test_drawn_noise.py::test_degrees",
    ),
)
