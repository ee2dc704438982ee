"""Tables of results, in Markdown."""
import statistics

PEERS = ("PyTorch", "ONNX Runtime")
COLUMNS = ["work", "Heddle ms", *(peer + " ms" for peer in PEERS), "fastest peer / Heddle", "of FMA peak", "of plain read", "to reach", "reached"]
# A window costs so much more for each visible score, at most, than at the smallest length.
GROWTH = "cost of a score"


def part_of_peak(result, milliseconds):
    return result["flops"] / (milliseconds * 1e6) / statistics.mean(result["fma_peak"])


def part_of_read(result, milliseconds):
    return result["read_ms"] / milliseconds


def judge(result, results):
    """Whether the goal is reached."""
    goal, ours = result["goal"], result["heddle_ms"]
    verdicts = []
    if goal.get("peak"):
        verdicts.append(part_of_peak(result, ours) >= goal["peak"])
    if goal.get("read"):
        verdicts.append(part_of_read(result, ours) >= goal["read"])
    if goal.get("peers"):
        rivals = [goal["against"]] if goal.get("against") else list(result["peers"])
        verdicts += [result["peers"][peer]["ms"] >= goal["peers"] * ours for peer in rivals]
    if goal.get("growth"):
        family = [r for r in results if r["group"] == result["group"] and r["dtype"] == result["dtype"]]
        first = min(family, key=lambda r: r["flops"])
        verdicts.append(ours / result["flops"] <= goal["growth"] * first["heddle_ms"] / first["flops"])
    return all(verdicts)


def _goal_text(goal):
    parts = []
    if goal.get("peak"):
        parts.append(f"{goal['peak']:.2f} of peak")
    if goal.get("read"):
        parts.append(f"{goal['read']:.2f} of read")
    if goal.get("peers"):
        whom = goal.get("against") or "peers"
        parts.append(f"{goal['peers']:g} x {whom}" if goal["peers"] != 1 else f"as fast as {whom}")
    if goal.get("growth"):
        parts.append(f"{GROWTH} <= {goal['growth']:g} x that at the first L")
    return ", ".join(parts)


def _milliseconds(value):
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def _line(result, results):
    ours, peers = result["heddle_ms"], result["peers"]
    times = [_milliseconds(peers[peer]["ms"]) if peer in peers else "-" for peer in PEERS]
    ratio = f"{min(p['ms'] for p in peers.values()) / ours:.2f}" if peers else "-"
    peak, read = ("-", "-")
    if "read_ms" in result:
        read = " / ".join(f"{part_of_read(result, ms):.2f}" for ms in (ours, *(peers[p]["ms"] for p in PEERS if p in peers)))
    else:
        peak = " / ".join(f"{part_of_peak(result, ms):.2f}" for ms in (ours, *(peers[p]["ms"] for p in PEERS if p in peers)))
    verdict = "disturbed" if result["disturbed"] else "yes" if judge(result, results) else "no"
    return [result["name"], _milliseconds(ours), *times, ratio, peak, read, _goal_text(result["goal"]), verdict]


def rows_table(results):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    lines += ["| " + " | ".join(_line(result, results)) + " |" for result in results]
    return "\n".join(lines)


def memory_table(rows):
    mib = lambda size: f"{size / 2**20:.1f}"
    sides = list(rows[0]["scratch"])
    lines = ["| tokens | inputs and output MiB | workspace MiB | " + " | ".join(f"{side}: further MiB at the peak" for side in sides) + " |",
             "|---" * (3 + len(sides)) + "|"]
    for row in rows:
        cells = [str(row["length"]), mib(row["tensors"]), mib(row["workspace"]), *(mib(row["scratch"][side]) for side in sides)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
