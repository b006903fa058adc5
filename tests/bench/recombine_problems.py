"""Three problems with hand-written implementations of the functions of one decomposition each: 5^5, 8^4 and 6^4 programs.
Some implementations are right, some wrong, slow, raising or of another interface; one is no Python at all."""


def intervals():
    """Total length of a union of intervals, and the widest gap between two of them."""
    read = [
        "import sys\ndef read_input():\n    data = sys.stdin.read().split()\n    n = int(data[0])\n    return [(int(data[1 + 2 * i]), int(data[2 + 2 * i])) for i in range(n)]",
        "def read_input():\n    n = int(input())\n    out = []\n    for _ in range(n):\n        a, b = map(int, input().split())\n        out.append((a, b))\n    return out",
        "def read_input():\n    n = int(input())\n    out = []\n    for _ in range(n):\n        a, b = map(int, input().split())\n        if a > b:\n            a, b = b, a\n        out.append((a, b))\n    return out",
        "def read_input():\n    n = int(input())\n    return [tuple(map(int, input().split())) for _ in range(n - 1)]",
        "import sys\ndef read_input():\n    lines = sys.stdin.readlines()\n    return [(int(line.split()[0]), int(line.split()[1])) for line in lines[1:]]",
    ]
    tidy = [
        "def tidy(spans):\n    return sorted((min(a, b), max(a, b)) for a, b in spans)",
        "def tidy(spans):\n    out = []\n    for a, b in spans:\n        out.append((a, b) if a <= b else (b, a))\n    out.sort(key=lambda s: (s[0], s[1]))\n    return out",
        "def tidy(spans):\n    return sorted(spans)",
        "def tidy(spans):\n    return sorted({(min(s), max(s)) for s in spans})",
        "def tidy(spans):\n    out = [(min(s), max(s)) for s in spans]\n    for i in range(len(out)):\n        for j in range(len(out) - 1):\n            if out[j] > out[j + 1]:\n                out[j], out[j + 1] = out[j + 1], out[j]\n    return out",
    ]
    merge = [
        "def merge(spans):\n    out = []\n    for a, b in spans:\n        if out and a <= out[-1][1]:\n            out[-1] = (out[-1][0], max(out[-1][1], b))\n        else:\n            out.append((a, b))\n    return out",
        "def merge(spans):\n    out = []\n    for a, b in spans:\n        if out and a < out[-1][1]:\n            out[-1] = (out[-1][0], max(out[-1][1], b))\n        else:\n            out.append((a, b))\n    return out",
        "def merge(spans):\n    if not spans:\n        return []\n    out = [spans[0]]\n    for a, b in spans[1:]:\n        x, y = out.pop()\n        if a <= y:\n            out.append((x, b if b > y else y))\n        else:\n            out.append((x, y))\n            out.append((a, b))\n    return out",
        "def merge(spans):\n    out = []\n    for a, b in spans:\n        if out and a <= out[-1][1]:\n            out[-1] = (out[-1][0], b)\n        else:\n            out.append((a, b))\n    return out",
        "def merge(spans):\n    x, y = spans[0]\n    out = []\n    for a, b in spans[1:]:\n        if a <= y:\n            y = max(y, b)\n        else:\n            out.append((x, y))\n            x, y = a, b\n    out.append((x, y))\n    return out",
    ]
    total = [
        "def total(spans):\n    return sum(b - a for a, b in spans)",
        "def total(spans):\n    s = 0\n    for a, b in spans:\n        s += b - a + 1\n    return s",
        "def total(spans):\n    s = 0\n    for span in spans:\n        s += span[1] - span[0]\n    return s",
        "def total(spans):\n    covered = set()\n    for a, b in spans:\n        covered.update(range(a, b))\n    return len(covered)",
        "def total(spans):\n    return spans[-1][1] - spans[0][0]",
    ]
    gap = [
        "def widest_gap(spans):\n    best = 0\n    for i in range(1, len(spans)):\n        best = max(best, spans[i][0] - spans[i - 1][1])\n    return best",
        "def widest_gap(spans):\n    return max((b[0] - a[1] for a, b in zip(spans, spans[1:])), default=0)",
        "def widest_gap(spans):\n    return max(b[0] - a[1] for a, b in zip(spans, spans[1:]))",
        "def widest_gap(spans):\n    best = 0\n    for i in range(len(spans) - 2):\n        best = max(best, spans[i + 1][0] - spans[i][1])\n    return best",
        "def widest_gap(spans):\n    gaps = sorted(b[0] - a[1] for a, b in zip(spans, spans[1:]))\n    return gaps[-1] if gaps else 0",
    ]
    stdin = ["3\n1 4\n6 8\n3 5\n", "1\n5 2\n", "4\n0 1\n1 2\n2 3\n9 10\n", "2\n10 20\n-5 -3\n", "5\n1 10\n2 3\n4 5\n30 31\n11 12\n",
             "3\n7 7\n7 9\n9 9\n", "6\n1 2\n4 3\n5 6\n8 7\n9 10\n12 11\n", "1\n0 1000\n", "4\n5 6\n1 2\n1 2\n20 25\n",
             "8\n" + "\n".join("%d %d" % (i * 7 % 50, i * 7 % 50 + i) for i in range(8)) + "\n"]
    return {"id": "intervals", "main": "spans = merge(tidy(read_input()))\nprint(total(spans), widest_gap(spans))", "stdin": stdin,
            "functions": [("read_input", read), ("tidy", tidy), ("merge", merge), ("total", total), ("widest_gap", gap)]}


def words():
    """The k most frequent words of a text and their counts; ties in alphabetical order."""
    split = [
        "import re\ndef split_words(text):\n    return re.findall(r'[a-z]+', text.lower())",
        "def split_words(text):\n    return text.lower().split()",
        "def split_words(text):\n    out, word = [], ''\n    for c in text.lower() + ' ':\n        if 'a' <= c <= 'z':\n            word += c\n        elif word:\n            out.append(word)\n            word = ''\n    return out",
        "def split_words(text):\n    for mark in '.,;:!?-\"()':\n        text = text.replace(mark, ' ')\n    return text.lower().split()",
        "import re\ndef split_words(text):\n    return re.split(r'[^a-z]+', text.lower())",
        "import re\ndef split_words(text):\n    return [w for w in re.split(r'[^a-z]+', text.lower()) if w]",
        "def split_words(text):\n    return [w.strip('.,;:!?') for w in text.split()]",
        "def split_words(text):\n    return [w for w in text.lower().split() if w.isalpha()]",
    ]
    count = [
        "def count_words(words):\n    counts = {}\n    for w in words:\n        counts[w] = counts.get(w, 0) + 1\n    return counts",
        "from collections import Counter\ndef count_words(words):\n    return dict(Counter(words))",
        "def count_words(words):\n    return {w: words.count(w) for w in words}",
        "from collections import defaultdict\ndef count_words(words):\n    counts = defaultdict(int)\n    for w in words:\n        counts[w] += 1\n    return counts",
        "def count_words(words):\n    counts = {}\n    for w in words:\n        counts[w] = counts.get(w, 1) + 1\n    return counts",
        "def count_words(words):\n    counts = {}\n    for w in sorted(words):\n        counts.setdefault(w, 0)\n        counts[w] += 1\n    return counts",
        "def count_words(words):\n    counts = {}\n    for w in words:\n        counts[w] += 1\n    return counts",
        "def count_words(words):\n    return {w: sum(1 for v in words if v == w) for w in set(words)}",
    ]
    rank = [
        "def rank(counts):\n    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))",
        "def rank(counts):\n    return sorted(counts.items(), key=lambda item: item[1], reverse=True)",
        "def rank(counts):\n    out = list(counts.items())\n    out.sort()\n    out.sort(key=lambda item: item[1], reverse=True)\n    return out",
        "import heapq\ndef rank(counts):\n    heap = [(-n, w) for w, n in counts.items()]\n    heapq.heapify(heap)\n    out = []\n    while heap:\n        n, w = heapq.heappop(heap)\n        out.append((w, -n))\n    return out",
        "def rank(counts):\n    return sorted(counts.items(), key=lambda item: (-item[1], item[0]), reverse=True)",
        "def rank(counts):\n    out = []\n    left = dict(counts)\n    while left:\n        best = None\n        for w in left:\n            if best is None or left[w] > left[best] or left[w] == left[best] and w < best:\n                best = w\n        out.append((best, left.pop(best)))\n    return out",
        "def rank(counts):\n    return sorted(counts)",
        "def rank(counts):\n    groups = {}\n    for w, n in counts.items():\n        groups.setdefault(n, []).append(w)\n    return [(w, n) for n in sorted(groups, reverse=True) for w in sorted(groups[n])]",
    ]
    show = [
        "def show(ranked, k):\n    return '\\n'.join('%s %d' % item for item in ranked[:k])",
        "def show(ranked, k):\n    lines = []\n    for i in range(k):\n        w, n = ranked[i]\n        lines.append(w + ' ' + str(n))\n    return '\\n'.join(lines)",
        "def show(ranked, k):\n    out = ''\n    for w, n in ranked[:k]:\n        out += f'{w} {n}\\n'\n    return out",
        "def show(ranked, k):\n    return '\\n'.join(f'{w}: {n}' for w, n in ranked[:k])",
        "def show(ranked, k):\n    return '\\n'.join(w + ' ' + n for w, n in ranked[:k])",
        "def show(ranked, k):\n    out = []\n    for w, n in ranked:\n        if len(out) == k:\n            break\n        out.append('{} {}'.format(w, n))\n    return '\\n'.join(out)",
        "def show(ranked, k):\n    return '\\n'.join('%s %d' % item for item in ranked[:k + 1])",
        "def show(ranked, k) -> str\n    return ''",
    ]
    texts = ["The cat and the dog. The end!", "a b c a b a", "one", "Tie tie TIE; bow bow - bow: x", "it's a dog's life, isn't it?", "",
             "red, green, blue. red: green; red!", "zeta alpha zeta alpha mid", "x1 x2 x1 y", "A man, a plan, a canal: Panama (a man!)",
             "word " * 40 + "other " * 40, "the quick brown fox jumps over the lazy dog and the fox"]
    stdin = ["%d\n%s\n" % (i % 4 + 1, text) for i, text in enumerate(texts)][:10]
    return {"id": "words", "main": "k = int(input())\nprint(show(rank(count_words(split_words(input()))), k))", "stdin": stdin,
            "functions": [("split_words", split), ("count_words", count), ("rank", rank), ("show", show)]}


def grid():
    """The number of lakes in a grid, the largest one's size, and whether one touches the border."""
    read = [
        "def read_grid():\n    rows, cols = map(int, input().split())\n    return [list(input()) for _ in range(rows)]",
        "import sys\ndef read_grid():\n    lines = sys.stdin.read().split('\\n')\n    rows = int(lines[0].split()[0])\n    return [list(lines[i + 1]) for i in range(rows)]",
        "def read_grid():\n    rows, cols = map(int, input().split())\n    out = []\n    for _ in range(rows):\n        out.append(input())\n    return out",
        "def read_grid():\n    cols, rows = map(int, input().split())\n    return [list(input()) for _ in range(rows)]",
        "def read_grid():\n    rows, cols = map(int, input().split())\n    return [[1 if c == '~' else 0 for c in input()] for _ in range(rows)]",
        "import sys\ndef read_grid():\n    data = sys.stdin.read().split()\n    return [list(row) for row in data[2:]]",
    ]
    find = [
        "def find_lakes(grid):\n    seen = set()\n    lakes = []\n    for r in range(len(grid)):\n        for c in range(len(grid[0])):\n            if grid[r][c] == '~' and (r, c) not in seen:\n                stack, lake = [(r, c)], []\n                seen.add((r, c))\n                while stack:\n                    y, x = stack.pop()\n                    lake.append((y, x))\n                    for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):\n                        if 0 <= v < len(grid) and 0 <= u < len(grid[0]) and grid[v][u] == '~' and (v, u) not in seen:\n                            seen.add((v, u))\n                            stack.append((v, u))\n                lakes.append(sorted(lake))\n    return lakes",
        "from collections import deque\ndef find_lakes(grid):\n    rows, cols = len(grid), len(grid[0])\n    done = [[False] * cols for _ in range(rows)]\n    lakes = []\n    for r in range(rows):\n        for c in range(cols):\n            if done[r][c] or grid[r][c] != '~':\n                continue\n            queue = deque([(r, c)])\n            done[r][c] = True\n            lake = []\n            while queue:\n                y, x = queue.popleft()\n                lake.append((y, x))\n                for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):\n                    v, u = y + dy, x + dx\n                    if 0 <= v < rows and 0 <= u < cols and not done[v][u] and grid[v][u] == '~':\n                        done[v][u] = True\n                        queue.append((v, u))\n            lakes.append(lake)\n    return lakes",
        "def find_lakes(grid):\n    lakes = []\n    seen = set()\n    def fill(r, c, lake):\n        if r < 0 or c < 0 or r >= len(grid) or c >= len(grid[0]) or (r, c) in seen or grid[r][c] != '~':\n            return\n        seen.add((r, c))\n        lake.append((r, c))\n        fill(r + 1, c, lake)\n        fill(r - 1, c, lake)\n        fill(r, c + 1, lake)\n        fill(r, c - 1, lake)\n    for r in range(len(grid)):\n        for c in range(len(grid[0])):\n            lake = []\n            fill(r, c, lake)\n            if lake:\n                lakes.append(lake)\n    return lakes",
        "def find_lakes(grid):\n    lakes = []\n    for r in range(len(grid)):\n        for c in range(len(grid[0])):\n            if grid[r][c] == '~':\n                stack, lake = [(r, c)], []\n                grid[r][c] = '.'\n                while stack:\n                    y, x = stack.pop()\n                    lake.append((y, x))\n                    for v, u in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):\n                        if 0 <= v < len(grid) and 0 <= u < len(grid[0]) and grid[v][u] == '~':\n                            grid[v][u] = '.'\n                            stack.append((v, u))\n                lakes.append(lake)\n    return lakes",
        "def find_lakes(grid):\n    seen = set()\n    lakes = []\n    for r in range(len(grid)):\n        for c in range(len(grid[0])):\n            if grid[r][c] == '~' and (r, c) not in seen:\n                stack, lake = [(r, c)], []\n                while stack:\n                    y, x = stack.pop()\n                    if (y, x) in seen:\n                        continue\n                    seen.add((y, x))\n                    lake.append((y, x))\n                    for v in (y - 1, y, y + 1):\n                        for u in (x - 1, x, x + 1):\n                            if 0 <= v < len(grid) and 0 <= u < len(grid[0]) and grid[v][u] == '~':\n                                stack.append((v, u))\n                lakes.append(lake)\n    return lakes",
        "def find_lakes(grid):\n    parent = {}\n    def root(a):\n        while parent[a] != a:\n            parent[a] = parent[parent[a]]\n            a = parent[a]\n        return a\n    for r, row in enumerate(grid):\n        for c, cell in enumerate(row):\n            if cell == '~':\n                parent[(r, c)] = (r, c)\n                for other in ((r - 1, c), (r, c - 1)):\n                    if other in parent:\n                        parent[root((r, c))] = root(other)\n    lakes = {}\n    for a in parent:\n        lakes.setdefault(root(a), []).append(a)\n    return list(lakes.values())",
    ]
    largest = [
        "def largest(lakes):\n    return max((len(lake) for lake in lakes), default=0)",
        "def largest(lakes):\n    best = 0\n    for lake in lakes:\n        if len(lake) > best:\n            best = len(lake)\n    return best",
        "def largest(lakes):\n    return len(max(lakes, key=len))",
        "def largest(lakes):\n    return sorted(len(lake) for lake in lakes)[-1] if lakes else 0",
        "def largest(lakes):\n    return sum(len(lake) for lake in lakes)",
        "def largest(lakes):\n    best = len(lakes[0])\n    for lake in lakes[1:]:\n        best = max(best, len(lake))\n    return best",
    ]
    touch = [
        "def touches(lakes, rows, cols):\n    return any(r in (0, rows - 1) or c in (0, cols - 1) for lake in lakes for r, c in lake)",
        "def touches(lakes, rows, cols):\n    for lake in lakes:\n        for r, c in lake:\n            if r == 0 or c == 0 or r == rows - 1 or c == cols - 1:\n                return True\n    return False",
        "def touches(lakes, rows, cols):\n    for lake in lakes:\n        for r, c in lake:\n            if r == 0 or c == 0 or r == rows or c == cols:\n                return True\n    return False",
        "def touches(lakes, rows, cols):\n    edge = {(r, c) for r in range(rows) for c in range(cols) if r * c == 0 or r == rows - 1 or c == cols - 1}\n    return any(edge & set(lake) for lake in lakes)",
        "def touches(lakes, rows, cols):\n    return all(min(r, c) == 0 for lake in lakes for r, c in lake)",
        "def touches(lakes, rows, cols):\n    while lakes:\n        lake = lakes.pop()\n        if any(r * c == 0 or r == rows - 1 or c == cols - 1 for r, c in lake):\n            return True\n    return False",
    ]
    grids = ["3 4\n.~~.\n....\n~..~\n", "1 1\n~\n", "1 1\n.\n", "4 4\n....\n.~~.\n.~~.\n....\n", "3 3\n~.~\n.~.\n~.~\n", "2 5\n~~~~~\n.....\n",
             "5 5\n.....\n.~.~.\n.~~~.\n.~.~.\n.....\n", "4 6\n~.~.~.\n.~.~.~\n~.~.~.\n.~.~.~\n", "6 6\n......\n.~~~~.\n.~..~.\n.~..~.\n.~~~~.\n......\n",
             "8 9\n" + "\n".join("".join("~" if (r * 5 + c * 3 + r * c) % 7 < 3 else "." for c in range(9)) for r in range(8)) + "\n"]
    return {"id": "grid", "main": "grid = read_grid()\nrows, cols = len(grid), len(grid[0])\nlakes = find_lakes(grid)\nprint(len(lakes), largest(lakes))\n"
            "print('yes' if touches(lakes, rows, cols) else 'no')", "stdin": grids,
            "functions": [("read_grid", read), ("find_lakes", find), ("largest", largest), ("touches", touch)]}


def program(problem, choice):
    return "\n".join([group[j] for (_, group), j in zip(problem["functions"], choice)] + [problem["main"]])


def record(problem, expected):
    """A line for decomp-recombine."""
    functions = [{"name": name, "signature": "", "doc": "", "implementations": [{"code": code} for code in group]}
                 for name, group in problem["functions"]]
    cases = [{"stdin": stdin, "stdout": stdout} for stdin, stdout in zip(problem["stdin"], expected)]
    return {"id": problem["id"], "prompt": "", "task": {"language": "python", "check": {"type": "stdio", "cases": cases},
                                                        "limits": {"cpu_s": 2, "wall_s": 10}},
            "decompositions": [{"functions": functions, "main": problem["main"]}]}


PROBLEMS = [intervals, words, grid]
