"""The scores of both tiers, and the mutants that survive."""

from collections import Counter


def report(records, equivalent):
    """The lines of the report; ``equivalent`` has the mutants that change nothing."""
    by_tier = {tier: {r["id"]: r for r in records if r["tier"] == tier}
               for tier in ("discarded", "quick", "whole")}  # fmt: skip
    quick = {k: r for k, r in by_tier["quick"].items() if k not in equivalent}
    whole = {k: r for k, r in by_tier["whole"].items() if k in quick}
    missed = [k for k, r in quick.items() if r["test"] is None]
    lines = [
        f"{len(quick)} mutants; besides these {len(by_tier['discarded'])} do not compile and "
        f"{len(equivalent)} change nothing",
        f"{'folder':16} {'mutants':>8} {'quick':>14} {'whole':>14} {'to run':>7}",
    ]
    folders = Counter(folder_of(record) for record in quick.values())
    for folder in [*sorted(folders), "all"]:
        these = {k for k, r in quick.items() if folder in ("all", folder_of(r))}
        caught = len([k for k in these if quick[k]["test"]])
        later = len([k for k in these if k in whole and whole[k]["test"]])
        left = len([k for k in these if not quick[k]["test"] and k not in whole])
        lines.append(
            f"{folder:16} {len(these):8} {share(caught, len(these)):>14} "
            f"{share(caught + later, len(these) - left):>14} {left:7}"
        )
    caught, later = len(quick) - len(missed), len([r for r in whole.values() if r["test"]])
    lines.append(f"quick catches {share(caught, caught + later)} of the mutants that whole catches")
    digests = [r for r in [*quick.values(), *whole.values()] if "golden" in (r["test"] or "")]
    lines.append(f"{len(digests)} are caught by the stored digests before any slower test")
    for title, chosen in (
        ("Caught by whole only", [k for k in missed if k in whole and whole[k]["test"]]),
        ("Survivors", [k for k in missed if k in whole and not whole[k]["test"]]),
        ("Survivors of quick, not tried by whole", [k for k in missed if k not in whole]),
    ):
        lines += ["", f"{title}: {len(chosen)}"]
        for record in sorted((quick[k] for k in chosen), key=lambda r: (r["file"], r["line"])):
            lines.append(f"{record['id']} {record['file']}:{record['line']} {record['operator']}")
            lines += [f"    - {record['before']}", f"    + {record['after']}"]
            if record["id"] in whole and whole[record["id"]]["test"]:
                lines.append(f"    {whole[record['id']]['test']}")
    return lines


def folder_of(record):
    """The folder of a mutant; the rules within the kernels are a folder of their own."""
    if record["operator"] == "named":
        return "named"
    return record["file"].removeprefix("lazynet/").rpartition("/")[0]


def share(part, total):
    """A part of a total, also in percent."""
    return f"{part}/{total} {100 * part / total:.1f}%" if total else "-"
