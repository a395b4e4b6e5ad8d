"""Temporary accumulator."""

import numpy as np

from graphcuts_dp.io.gathered import CodedText


class Gathered:
    def __init__(self, roles):
        self.roles = [r for r in roles if r in ("source", "target", "user")]
        self.parts = []
        self.w = "weight" in roles
        self.p = "period" in roles

    def add(self, batch):
        self.parts.append(batch)

    def take(self):
        import pyarrow as pa

        out = {}

        def column(role):
            return [b.columns[role] for b in self.parts]

        def group(roles, names):
            cols = [column(r) for r in roles]
            if all(pa.types.is_int64(c.type) for cs in cols for c in cs):
                for n, cs in zip(names, cols):
                    out[n] = (
                        np.concatenate([c.to_numpy() for c in cs]) if cs else np.zeros(0, np.int64)
                    )
                return
            lens = [sum(map(len, cs)) for cs in cols]
            flat = pa.chunked_array(
                [c.cast(pa.large_string()) for cs in cols for c in cs], pa.large_string()
            ).combine_chunks()
            if isinstance(flat, pa.ChunkedArray):
                flat = pa.concat_arrays(flat.chunks)
            d = flat.dictionary_encode()
            codes = d.indices.to_numpy()
            names_ = d.dictionary.to_pylist()
            at = 0
            for n, l in zip(names, lens):
                out[n] = CodedText(codes[at : at + l], names_)
                at += l

        group(["source", "target"], ["sources", "targets"])
        if "user" in self.roles:
            group(["user"], ["users"])
        out["weights"] = (
            np.concatenate([b.weights for b in self.parts])
            if self.w and self.parts
            else (np.zeros(0) if self.w else None)
        )
        ps = [b.periods for b in self.parts if b.periods is not None]
        out["periods"] = np.concatenate(ps) if ps else None
        self.n = (
            np.concatenate([np.asarray(b.row_numbers) for b in self.parts])
            if self.parts
            else np.zeros(0)
        )
        return out

    def place(self, position):
        return int(self.n[position])
