"""Machine code as nvdisasm prints it: instructions by class, basic blocks, loops, and one trip through a loop.

A loop is the natural loop of a backward branch whose target dominates it. Its trip is the path from the header to the backward branch with
the most tensor-core work, then the most instructions: every prefetch is issued, and each instruction counts once even if predicated off. Its
skipped trip is the path with the most tensor-core work, then the most asynchronous copies, then the fewest instructions: every prefetch is
issued, and all other work that is done under a condition is left out.
"""
import re
from collections import Counter

CLASSES = {
    "mma": "HMMA IMMA DMMA BMMA",
    "fp32": "FFMA FADD FMUL FMNMX FFMA32I FADD32I FMUL32I FSWZADD",
    "compare": "FSETP FSEL FSET FCHK",
    "half": "HFMA2 HADD2 HMUL2 HMNMX2 HSETP2 HSET2",
    "convert": "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND",
    "integer": "IADD3 IADD IMAD IMUL LOP3 LOP LEA SHF SHL SHR ISETP PLOP3 PSETP SEL IABS IMNMX VIADD BMSK POPC FLO PRMT P2R R2P SGXT BREV IDP "
               "IDP4A VABSDIFF LEPC LDC ULDC",
    "ldsm": "LDSM",
    "shared": "LDS STS STSM ATOMS MOVM",
    "async": "LDGSTS LDGDEPBAR",
    "global": "LDG STG LD ST ATOM ATOMG RED CCTL",
    "local": "LDL STL",
    "warp": "SHFL VOTE VOTEU MATCH REDUX",
    "sync": "BAR DEPBAR WARPSYNC MEMBAR ERRBAR NANOSLEEP B2R",
    "branch": "BRA EXIT CALL RET BRX JMP JMX BSSY BSYNC BREAK YIELD BMOV BPT KILL",
    "move": "MOV MOV32I CS2R S2R S2UR R2UR UMOV",
}
CLASS_OF = {name: group for group, names in CLASSES.items() for name in names.split()}
SHAPES = {"16816": 16 * 8 * 16, "1688": 16 * 8 * 8, "16832": 16 * 8 * 32, "884": 8 * 8 * 4, "8816": 8 * 8 * 16}
INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]+)\*/\s+(?:\{\s*)?(@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*([^;]*);")
LABEL = re.compile(r"^(\.L_\S+):\s*$")
HEAD = re.compile(r"^// kernel '([^']*)' on (sm_\d+): (\d+) registers, (\d+) bytes of spill stores, (\d+) of spill loads")


class Instruction:
    def __init__(self, address, predicate, opcode, operands):
        self.address, self.predicate, self.opcode, self.operands = address, predicate, opcode, operands
        self.root = opcode.split(".")[0]
        target = re.search(r"`\((\.L_\S+?)\)", operands)
        self.target = target.group(1) if target else None

    @property
    def group(self):
        """A class; a move in disguise (IMAD.MOV, HFMA2 of zeros) is a move."""
        if self.root == "MUFU":
            return "exp2" if ".EX2" in self.opcode else "mufu"
        if self.root == "IMAD" and ".MOV" in self.opcode or \
                self.root.startswith("HFMA2") and re.match(r"U?R\d+, -RZ, RZ,", self.operands):
            return "move"
        if self.root in CLASS_OF:
            return CLASS_OF[self.root]
        return "integer" if self.root.startswith("U") else "other"

    @property
    def macs(self):
        """Multiply-adds of a matrix instruction."""
        return next((SHAPES[part] for part in self.opcode.split(".") if part in SHAPES), 0) if self.group == "mma" else 0

    @property
    def is_conditional(self):
        return self.predicate not in ("", "@PT", "@UPT") or bool(re.match(r"!?U?P\d,", self.operands)) or ".DIV" in self.opcode


class Kernel:
    def __init__(self, name, chip, registers, spill_bytes):
        self.name, self.chip, self.registers, self.spill_bytes = name, chip, registers, spill_bytes
        self.instructions, self.labels = [], {}


def read_kernels(text):
    """The kernels of what heddle-compile --emit=sass writes."""
    kernels = []
    for line in text.splitlines():
        if head := HEAD.match(line):
            name, chip, *numbers = head.groups()
            registers, stores, loads = map(int, numbers)
            kernels.append(Kernel(name, chip, registers, stores + loads))
        elif kernels and (label := LABEL.match(line)):
            kernels[-1].labels[label.group(1)] = len(kernels[-1].instructions)
        elif kernels and (found := INSTRUCTION.match(line)):
            address, predicate, opcode, operands = found.groups()
            kernels[-1].instructions.append(Instruction(int(address, 16), (predicate or "").strip(), opcode, operands.strip()))
    return [kernel for kernel in kernels if kernel.instructions]


def build_blocks(kernel):
    """Basic blocks as ranges of instructions, and the successors of each."""
    code, labels = kernel.instructions, kernel.labels
    ends = {"BRA", "EXIT", "RET", "BRX", "JMP", "BSYNC", "WARPSYNC", "CALL", "KILL"}
    leaders = {0} | set(labels.values()) | {i + 1 for i, each in enumerate(code) if each.root in ends}
    leaders = sorted(leader for leader in leaders if leader < len(code))
    blocks = list(zip(leaders, leaders[1:] + [len(code)]))
    number = {start: i for i, (start, _) in enumerate(blocks)}
    # BSYNC goes on where the BSSY of the same barrier register says.
    joins = {each.operands.split(",")[0].strip(): each.target for each in code if each.root == "BSSY"}
    successors = []
    for i, (start, end) in enumerate(blocks):
        last = code[end - 1]
        target = joins.get(last.operands.split()[-1] if last.operands else "") if last.root == "BSYNC" else last.target
        goes_on = last.root not in ("BRA", "JMP", "EXIT", "RET", "BRX", "KILL") or last.is_conditional
        next_blocks = {i + 1} if goes_on and i + 1 < len(blocks) else set()
        if last.root in ("BRA", "JMP", "BSYNC", "WARPSYNC", "CALL") and last.predicate != "@!PT" and target in labels:
            next_blocks.add(number[labels[target]])
        successors.append(sorted(next_blocks))
    return blocks, successors


def find_loops(successors):
    """Natural loops: header -> (blocks, blocks that branch back)."""
    count = len(successors)
    predecessors = [[b for b in range(count) if s in successors[b]] for s in range(count)]
    dominators = [set(range(count)) for _ in range(count)]
    dominators[0] = {0}
    changed = True
    while changed:
        changed = False
        for block in range(1, count):
            reaching = [dominators[p] for p in predecessors[block]]
            new = {block} | (set.intersection(*reaching) if reaching else set())
            changed |= new != dominators[block]
            dominators[block] = new
    loops = {}
    for block in range(count):
        for header in successors[block]:
            if header not in dominators[block]:
                continue
            body, backs = loops.setdefault(header, (set(), []))
            backs.append(block)
            body.add(header)
            work = [block]
            while work:
                each = work.pop()
                if each not in body:
                    body.add(each)
                    work += predecessors[each]
    return loops


def find_trip(kernel, blocks, successors, header, body, backs, skips=False):
    """The blocks of one trip, or of one that skips what it can."""
    code = kernel.instructions

    def weight(block):
        start, end = blocks[block]
        macs = sum(each.macs for each in code[start:end])
        if skips:
            return macs, sum(each.group == "async" for each in code[start:end]), start - end
        return macs, end - start, 0

    best, open_blocks = {}, set()

    def visit(block):
        if block in best or block in open_blocks:
            return best.get(block)
        open_blocks.add(block)
        tails = [((0, 0, 0), ())] if block in backs else []
        tails += [tail for s in successors[block] if s in body and s != header and (tail := visit(s))]
        open_blocks.discard(block)
        best[block] = None
        if tails:
            sums, path = max(tails)
            best[block] = (tuple(map(sum, zip(sums, weight(block)))), (block,) + path)
        return best[block]

    return visit(header)[1]


def measure_trip(trip):
    groups = Counter(each.group for each in trip)
    products = sum(each.macs for each in trip) / 2048
    arithmetic = sum(groups[each] for each in ("mma", "fp32", "exp2", "convert", "ldsm"))
    return {"instructions": len(trip), "products": products, "non_mma_per_product": (len(trip) - groups["mma"]) / products,
            "moves": groups["move"], "spills": groups["local"], "overhead": len(trip) - arithmetic, "groups": dict(groups)}


def measure_loops(kernel):
    """Counts of one trip through every innermost loop with matrix instructions, in the order of their code; of the skipped one under "skipped"."""
    blocks, successors = build_blocks(kernel)
    loops = find_loops(successors)
    code = kernel.instructions
    has_mma = {h: any(code[i].macs for b in body for i in range(*blocks[b])) for h, (body, _) in loops.items()}
    measured = []
    for header, (body, backs) in sorted(loops.items()):
        is_outer = any(inner != header and inner in body and has_mma[inner] for inner in loops)
        if not has_mma[header] or is_outer:
            continue
        full, skipped = (measure_trip([code[i] for b in find_trip(kernel, blocks, successors, header, body, backs, skips)
                                       for i in range(*blocks[b])]) for skips in (False, True))
        measured.append({**full, "skipped": skipped})
    return measured
