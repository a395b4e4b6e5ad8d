"""An entry for the public registry of deployments of differential privacy.

The fields are those of `schemas/deployments-schema.yaml` of opendp/deployments-registry-data at
commit 3e9c812a (July 2026), the data behind https://registry.opendp.org, which NIST has proposed to
host. Its entries are YAML, of which JSON is a part, so that the file can be submitted as it is.

Source: Nanayakkara, Ghazi, Vadhan, *Practitioners' Perspectives on a Differential Privacy
Deployment Registry*, 2025, arXiv 2509.13509.
"""

import re
from typing import Any

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.reports.contents import INTERACTIVE
from graphcuts_dp.reports.hazards import SECURITY
from graphcuts_dp.reports.release_report import ReleaseReport

_TIER = 2  # of three: with privacy unit and parameters, without a rationale for every choice
# Fields that are required, or of tier 1 or 2, and that only the curator knows.
_UNKNOWN = ("data_product_region", "data_product_sector", "data_source_type", "trust_assumptions")


def registry_entry(report: ReleaseReport) -> dict[str, Any]:
    """Return a draft of an entry, as plain values for JSON.

    Unknown fields are empty texts, or left out if the schema has a list of allowed words; the notes
    of the entry name all of them.

    Args:
        report: of a release or a store.

    Raises:
        ParameterError: the report is on a seeded run, which guarantees nothing.
    """
    guarantee, contents = report.basis.guarantee, report.basis.contents
    if not guarantee.is_private:
        raise ParameterError("a seeded run guarantees nothing: release again without --seed")
    name = report.purpose or contents.title
    basic = {
        "name": name,
        "data_curators": [report.author],
        "description": " ".join(report.published),
        "intended_use": report.purpose,
        "data_product_type": contents.product_type,
        "data_product_region": "",
        "publication_date": report.time[:10],
    }
    shares = ", ".join(f"{statistic}: {epsilon:.3g}" for statistic, epsilon in guarantee.spent)
    deployment: dict[str, Any] = {
        "basic": basic,
        "dp_variant": {
            "variant_name": _variant(guarantee),
            "data_domain": f"Graphs on a public vertex set. {' '.join(report.left_out)}",
            "unprotected_quantities": f"Public by assumption: {guarantee.public}.",
        },
        "privacy_loss": {
            "privacy_unit": guarantee.privacy_unit,
            "privacy_unit_details": f"Neighbours: {guarantee.neighbours}.",
            "privacy_parameters": _parameters(guarantee),
            "privacy_parameters_details": " ".join(report.budget),
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": "",
            "release_type": "Many releases" if _is_interactive(report) else "One release",
            "release_type_details": " ".join(report.budget),
            "access_type": "Interactive" if _is_interactive(report) else "Non-interactive",
            "access_type_details": "",
        },
        "accounting": {
            "composition": f"Sequential; epsilon spent on {shares}." if shares else "",
            "post_processing": contents.biased,
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": "",
            "mechanisms": _mechanisms(report),
            "justification": "",
        },
        "administrative": {"sources": "", "registry_authors": [report.author]},
    }
    empty = [*_empty(deployment), *(field for field in _UNKNOWN if not _has(deployment, field))]
    deployment["administrative"]["notes"] = (
        f"Check code of the receipt: {report.check_code}. Not known to the program that wrote this "
        f"draft, and left empty or out: {', '.join(dict.fromkeys(empty))}."
    )
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:60],
        "status": "Draft",
        "tier": _TIER,
        "deployment": deployment,
    }


def _variant(guarantee: PrivacyGuarantee) -> str:
    """Return the variant of differential privacy, in the words of the schema."""
    if guarantee.rho is not None:
        return "Zero-concentrated DP"
    return "Approximate DP" if guarantee.delta else "Pure DP"


def _parameters(guarantee: PrivacyGuarantee) -> dict[str, float]:
    """Return the parameters of a guarantee by name."""
    values = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "rho": guarantee.rho}
    return {name: value for name, value in values.items() if value is not None}


def _is_interactive(report: ReleaseReport) -> bool:
    """Return whether the report is on the sessions of a store."""
    return report.basis.contents.product_type == INTERACTIVE


def _mechanisms(report: ReleaseReport) -> str:
    """Return sentences on the noise and on the program that drew it."""
    provenance, noises = report.basis.guarantee.provenance, report.basis.contents.noises
    program = provenance.made_by if provenance is not None else "graphcuts_dp"
    noise = f"Noise: {', '.join(noises)}. " if noises else ""
    return (
        f"{noise}Implemented in {program}: whole units of noise from the operating system's "
        f"generator. Side channels and access: {SECURITY} of its source."
    )


def _empty(fields: dict[str, Any]) -> list[str]:
    """Return the names of all empty fields, also of nested objects."""
    names = []
    for name, value in fields.items():
        if isinstance(value, dict):
            names += _empty(value)
        elif value in ("", [""]):
            names.append(name)
    return names


def _has(fields: dict[str, Any], name: str) -> bool:
    """Return whether there is a field of a name, also in nested objects."""
    return any(
        key == name or (isinstance(value, dict) and _has(value, name))
        for key, value in fields.items()
    )
