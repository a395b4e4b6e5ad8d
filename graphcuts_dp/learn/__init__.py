"""Iterative database constructions: hypotheses that answer queries and learn from mistakes.

Read `base` first. The other modules are about

- hypotheses: `blocks`, `cut_sum`, `median`, and a start from public groups in `group_start`;
- update rules: `rules`; mirror descent has `potentials`, `lp_norms` and `norms`;
- rules that are not yet tuned, and their names: `learners`, `constructions`;
- bounds and errors from public numbers: `sizes`, `bounds`, `workload`, `forecasts`,
  `detectability`, `least_cut_error`;
- the noise of sessions: `calibrations`.
"""
