"""Problems that need an idea: a stack, a table, a search."""

from problem_kit import call, script, stdio


def peel(text):
    """A second way to match brackets: take out adjacent pairs until nothing changes."""
    kept = "".join(c for c in text if c in "()[]{}")
    while kept != (kept := kept.replace("()", "").replace("[]", "").replace("{}", "")):
        pass
    return kept == ""


@call(hidden=["", "(", ")", ")(", "[()]{}", "([)]", "((((()))))", "f(a[1], {b: 2})", "{[}", "no brackets", "(()",
              "())"],
      also=peel)
def brackets_match(text):
    """Return True if every bracket in the text is closed by one of its kind, in the right order. Kinds: () [] {}.

    Other characters do not matter.

    >>> brackets_match("(a[b])")
    True
    >>> brackets_match("(]")
    False
    """
    stack = []
    for character in text:
        if character in "([{":
            stack.append(character)
        elif character in ")]}":
            if not stack or stack.pop() + character not in ("()", "[]", "{}"):
                return False
    return not stack


def blocks_of(spans):
    """A second way to join spans: mark half steps on the line."""
    marks = {half for low, high in spans for half in range(2 * low, 2 * high + 1)}
    starts = sorted(half for half in marks if half - 1 not in marks)
    ends = sorted(half for half in marks if half + 1 not in marks)
    return [[start // 2, end // 2] for start, end in zip(starts, ends)]


@call(hidden=[[], [[1, 1]], [[1, 2], [2, 3]], [[1, 2], [3, 4]], [[5, 9], [1, 3]], [[1, 10], [2, 3], [4, 5]],
              [[0, 1], [0, 1]], [[8, 9], [1, 4], [3, 6], [6, 7]], [[-5, -1], [-2, 0]]],
      also=blocks_of)
def join_spans(spans):
    """Each span is a list [low, high]. Join spans that overlap or touch in a point; return the result from low to high.

    >>> join_spans([[1, 4], [3, 6], [8, 9]])
    [[1, 6], [8, 9]]
    >>> join_spans([[5, 7], [1, 5]])
    [[1, 7]]
    """
    joined = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], high)
        else:
            joined.append([low, high])
    return joined


@call(hidden=["", "z", "zz", "abc", "aaabbbccc", "abababab", "  x", "kkkkkkkkkkkkz", "AAaa", "112"],
      also=lambda text: "".join(key + (str(n) if n > 1 else "") for key, n in
                                [(k, len(list(g))) for k, g in __import__("itertools").groupby(text)]))
def pack(text):
    """Shorten the text: write a run of equal characters as the character and the length of the run. No 1 is written.

    >>> pack("aaabcc")
    'a3bc2'
    >>> pack("xyz")
    'xyz'
    """
    packed, at = "", 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] == text[at]:
            end += 1
        packed += text[at] + (str(end - at) if end - at > 1 else "")
        at = end
    return packed


@call(hidden=["I", "III", "V", "IV", "VIII", "XL", "XC", "CD", "MDCLXVI", "MCMXCIX", "MMXXVI", "CMXLIV"],
      also=lambda text: eval("".join({"I": "+1", "V": "+5", "X": "+10", "L": "+50", "C": "+100", "D": "+500",
                                      "M": "+1000", "a": "+4", "b": "+9", "c": "+40", "d": "+90", "e": "+400",
                                      "f": "+900"}[c] for c in
                             text.replace("IV", "a").replace("IX", "b").replace("XL", "c").replace("XC", "d")
                             .replace("CD", "e").replace("CM", "f"))))
def from_roman(text):
    """Return the number that a Roman numeral stands for. A smaller letter before a larger one is taken away.

    I is 1, V is 5, X is 10, L is 50, C is 100, D is 500, M is 1000.

    >>> from_roman("XVI")
    16
    >>> from_roman("XIX")
    19
    """
    values = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    number = 0
    for at, letter in enumerate(text):
        following = values[text[at + 1]] if at + 1 < len(text) else 0
        number += -values[letter] if values[letter] < following else values[letter]
    return number


@call(hidden=["", "a", "aa", "abcdef", "abba", "dvdf", "tmmzuxt", "aabbccd", "one two", "abcabcdabcde"],
      also=lambda text: max((j - i for i in range(len(text)) for j in range(i, len(text) + 1)
                             if len(set(text[i:j])) == j - i), default=0))
def longest_fresh_stretch(text):
    """Return the length of the longest stretch of the text in which no character occurs twice.

    >>> longest_fresh_stretch("abcab")
    3
    >>> longest_fresh_stretch("zzz")
    1
    """
    last, start, best = {}, 0, 0
    for at, character in enumerate(text):
        if last.get(character, -1) >= start:
            start = last[character] + 1
        last[character] = at
        best = max(best, at - start + 1)
    return best


def coins_by_levels(coins, amount):
    """A second way to pay: all sums of one coin, of two coins, and so on."""
    sums, used = {0}, 0
    while amount not in sums:
        more = {a + coin for a in sums for coin in coins if a + coin <= amount}
        if not more:
            return -1
        sums, used = more, used + 1
    return used


@call(hidden=[([1], 0), ([2], 3), ([5], 15), ([1, 3, 4], 6), ([4, 3, 1], 10), ([7, 5], 11), ([7, 5], 24),
              ([2, 6, 9], 1), ([1, 20, 25], 40), ([3, 10], 19)],
      also=coins_by_levels)
def fewest_coins(coins, amount):
    """Return the smallest number of coins that pay the amount exactly, or -1 if that is impossible.

    `coins` lists the values of the coins, all above 0; there are as many of each as you like.

    >>> fewest_coins([1, 5, 10], 16)
    3
    >>> fewest_coins([4, 6], 7)
    -1
    """
    fewest = [0] + [amount + 1] * amount
    for value in range(1, amount + 1):
        for coin in coins:
            if coin <= value:
                fewest[value] = min(fewest[value], fewest[value - coin] + 1)
    return fewest[amount] if fewest[amount] <= amount else -1


def unroll(grid):
    """A second way along a spiral: take the top row off, turn the rest, repeat."""
    return list(grid[0]) + unroll(list(zip(*grid[1:]))[::-1]) if grid else []


@call(hidden=[[], [[1]], [[1, 2, 3]], [[1], [2], [3]], [[1, 2], [3, 4]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
              [[1, 2, 3, 4], [5, 6, 7, 8]], [["a", "b"], ["c", "d"], ["e", "f"]]],
      also=unroll)
def spiral(rows):
    """Return the items of a table of equally long rows in a spiral: along the top, down the right side, back along the
    bottom, up the left side, and so on inwards.

    >>> spiral([[1, 2, 3], [4, 5, 6]])
    [1, 2, 3, 6, 5, 4]
    >>> spiral([[1, 2], [3, 4], [5, 6]])
    [1, 2, 4, 6, 5, 3]
    """
    if not rows:
        return []
    top, bottom, left, right, path = 0, len(rows) - 1, 0, len(rows[0]) - 1, []
    while top <= bottom and left <= right:
        path += rows[top][left:right + 1]
        path += [rows[y][right] for y in range(top + 1, bottom + 1)]
        if top < bottom and left < right:
            path += rows[bottom][left:right][::-1]
            path += [rows[y][left] for y in range(bottom - 1, top, -1)]
        top, bottom, left, right = top + 1, bottom - 1, left + 1, right - 1
    return path


def reduce_leftmost(text):
    """A second way to work out a postfix expression: replace the leftmost "number number sign" until one is left."""
    words = text.split()
    while len(words) > 1:
        at = next(i for i, word in enumerate(words) if word in "+-*")
        words[at - 2:at + 1] = [str(eval(f"({words[at - 2]}){words[at]}({words[at - 1]})"))]
    return int(words[0])


@call(hidden=["7", "1 2 -", "2 3 4 * +", "2 3 + 4 *", "10 2 8 * + 3 -", "-1 -2 *", "5 1 2 + 4 * + 3 -", "0 9 -",
              "1 1 + 1 + 1 +"],
      also=reduce_leftmost)
def work_out(text):
    """Work out an expression in postfix form: whole numbers, and the signs + - * that take the two values before them.

    >>> work_out("3 4 +")
    7
    >>> work_out("5 2 - 6 *")
    18
    """
    stack = []
    for word in text.split():
        if word in ("+", "-", "*"):
            right, left = stack.pop(), stack.pop()
            stack.append(left + right if word == "+" else left - right if word == "-" else left * right)
        else:
            stack.append(int(word))
    return stack[0]


@call(hidden=[[], [3], [3, 3], [1, 2, 3], [3, 2, 1], [10, 1, 11, 2, 12, 3], [2, 2, 3, 3, 4], [7, 8, 1, 2, 3, 0],
              [0, 8, 4, 12, 2, 10, 6, 14, 1, 9]],
      also=lambda numbers: max(len(pick) for mask in range(2 ** len(numbers))
                               if (pick := [n for i, n in enumerate(numbers) if mask >> i & 1]) == sorted(set(pick))))
def longest_climb(numbers):
    """Cross out numbers so that those left, in their order, become larger and larger. Return how many can be left.

    >>> longest_climb([5, 1, 6, 2, 3])
    3
    >>> longest_climb([4, 4])
    1
    """
    best = []
    for at, number in enumerate(numbers):
        best.append(1 + max((best[i] for i in range(at) if numbers[i] < number), default=0))
    return max(best, default=0)


def count_routes(rows, y=0, x=0):
    """A second way to count: try every route."""
    if y == len(rows) or x == len(rows[0]) or rows[y][x] == "#":
        return 0
    if (y, x) == (len(rows) - 1, len(rows[0]) - 1):
        return 1
    return count_routes(rows, y + 1, x) + count_routes(rows, y, x + 1)


@call(hidden=[["."], ["#"], ["...."], [".", ".", "."], ["..", "#."], [".#", "#."], ["...", "...", "..."],
              ["....", ".##.", "...."], ["......"] * 6, ["...", "..#", ".#."]],
      also=count_routes)
def routes(rows):
    """Count the routes from the top left to the bottom right field that go only right and down and avoid walls.

    The map is a list of equally long texts: "." is free, "#" is a wall. From or to a wall there is no route.

    >>> routes(["..", ".."])
    2
    >>> routes(["...", ".#.", "..."])
    2
    """
    ways = [[0] * len(row) for row in rows]
    for y, row in enumerate(rows):
        for x, field in enumerate(row):
            if field == "#":
                continue
            above = ways[y - 1][x] if y else 0
            left = ways[y][x - 1] if x else 0
            ways[y][x] = above + left if (y or x) else 1
    return ways[-1][-1]


@call(hidden=[[], ["a"], ["a", "b"], ["tea", "eat", "ate"], ["no", "on", "in"], ["b", "a", "b"],
              ["stop", "tops", "pots", "x"], ["aab", "aba", "abb"], ["", "", "z"]],
      also=lambda words: sorted(sorted(w for w in words if sorted(w) == list(key))
                                for key in {tuple(sorted(w)) for w in words}))
def same_letters(words):
    """Put words with the same letters into one group. Sort each group, and the groups by their first words.

    >>> same_letters(["tar", "cat", "rat"])
    [['cat'], ['rat', 'tar']]
    >>> same_letters(["on", "no"])
    [['no', 'on']]
    """
    groups = {}
    for word in sorted(words):
        groups.setdefault("".join(sorted(word)), []).append(word)
    return sorted(groups.values())


def edits(first, second):
    """A second way to count edits: straight from the definition."""
    if not first or not second:
        return len(first) + len(second)
    if first[0] == second[0]:
        return edits(first[1:], second[1:])
    return 1 + min(edits(first[1:], second), edits(first, second[1:]), edits(first[1:], second[1:]))


@call(hidden=[("", ""), ("a", ""), ("", "abc"), ("same", "same"), ("ab", "ba"), ("kitten", "sitting"), ("flaw", "lawn"),
              ("abcdef", "azced"), ("x", "yy")],
      also=edits)
def typing_errors(first, second):
    """Return the fewest changes that turn the first text into the second. A change inserts, removes or replaces one
    character.

    >>> typing_errors("cat", "cut")
    1
    >>> typing_errors("house", "use")
    2
    """
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@script(test="""
def check(candidate):
    def judge(numbers, wanted, possible):
        got = candidate(list(numbers), wanted)
        if not possible:
            assert got is None, "there is no such pair"
            return
        assert len(got) == 2 and got[0] != got[1], "two different places"
        assert 0 <= min(got) and max(got) < len(numbers), "places in the list"
        assert numbers[got[0]] + numbers[got[1]] == wanted, "the numbers do not add up"
    judge([], 0, False)
    judge([5], 10, False)
    judge([5, 5], 10, True)
    judge([1, 2, 3, 4], 5, True)
    judge([1, 2, 3, 4], 8, False)
    judge([-3, 7, 0, 3], 0, True)
    judge([4, 1, 9, 9], 18, True)
    judge(list(range(3000)), 5997, True)
    judge(list(range(0, 6000, 2)), 7777, False)
""")
def pair_with_sum(numbers, wanted):
    """Find two different places in the list whose numbers add up to `wanted`, and return them as a list of two indices.

    Any such pair will do, in any order. Return None if there is none.

    >>> pair_with_sum([2, 9, 5], 14)
    [1, 2]
    """
    seen = {}
    for at, number in enumerate(numbers):
        if wanted - number in seen:
            return [seen[wanted - number], at]
        seen[number] = at
    return None


@script(test="""
def check(candidate):
    for tasks in ({}, {"a": []}, {"a": ["b"], "b": []}, {"c": ["a", "b"], "b": ["a"], "a": []},
                  {"x": [], "y": [], "z": ["y"]}, {str(i): [str(i + 1)] if i < 30 else [] for i in range(31)},
                  {"shoes": ["socks", "trousers"], "trousers": ["pants"], "socks": [], "pants": [], "coat": ["shoes"]}):
        order = candidate({task: list(first) for task, first in tasks.items()})
        assert sorted(order) == sorted(tasks), "every task once"
        for task, first in tasks.items():
            for other in first:
                assert order.index(other) < order.index(task), f"{other} must come before {task}"
    assert candidate({"a": ["b"], "b": ["a"]}) is None, "impossible"
    assert candidate({"a": ["a"]}) is None, "impossible"
    assert candidate({"a": [], "b": ["c"], "c": ["d"], "d": ["b"]}) is None, "impossible"
""")
def work_order(tasks):
    """Bring tasks into an order in which they can be done. The dictionary gives for each task what must be done before.

    Return the tasks as a list, in any order that works, or None if there is none.

    >>> work_order({"bake": ["mix"], "mix": []})
    ['mix', 'bake']
    """
    order, left = [], dict(tasks)
    while left:
        ready = [task for task, first in left.items() if all(other in order for other in first)]
        if not ready:
            return None
        order += ready
        for task in ready:
            del left[task]
    return order


@script(test="""
def check(candidate):
    def prime(n):
        return n > 1 and all(n % d for d in range(2, int(n ** 0.5) + 1))
    for n in list(range(2, 200)) + [1024, 3 * 5 * 7 * 11 * 13, 9973, 99 * 101, 10 ** 9 + 7, 2 ** 20 * 3]:
        factors = candidate(n)
        product = 1
        for factor in factors:
            assert prime(factor), f"{factor} is not prime"
            product *= factor
        assert product == n, "the product is another number"
""")
def prime_factors(n):
    """Return the prime factors of a whole number n above 1 as a list, in any order; their product is n.

    >>> prime_factors(12)
    [2, 2, 3]
    """
    factors, divisor = [], 2
    while divisor * divisor <= n:
        while n % divisor == 0:
            factors.append(divisor)
            n //= divisor
        divisor += 1
    return factors + [n] if n > 1 else factors


@script(test="""
def check(candidate):
    for size in range(1, 6):
        codes = candidate(size)
        assert len(codes) == 2 ** size, "every code of this length"
        assert len(set(codes)) == len(codes), "a code occurs twice"
        assert all(len(code) == size and set(code) <= {"0", "1"} for code in codes), "texts of 0 and 1"
        for before, after in zip(codes, codes[1:]):
            assert sum(a != b for a, b in zip(before, after)) == 1, "neighbours differ in one place"
""")
def one_switch_apart(size):
    """List all texts of `size` characters 0 and 1 so that neighbours in the list differ in exactly one place.

    Any such list will do. `size` is at least 1.

    >>> one_switch_apart(1)
    ['0', '1']
    """
    codes = [""]
    for _ in range(size):
        codes = ["0" + code for code in codes] + ["1" + code for code in reversed(codes)]
    return codes


def flood(given):
    """A second way through the maze: let the free fields fill up step by step."""
    rows = given.split()
    free = {(y, x) for y, row in enumerate(rows) for x, field in enumerate(row) if field != "#"}
    place = {field: (y, x) for y, row in enumerate(rows) for x, field in enumerate(row)}
    reached, steps = {place["S"]}, 0
    while place["E"] not in reached:
        wider = reached | {(y + a, x + b) for y, x in reached for a, b in ((0, 1), (1, 0), (0, -1), (-1, 0))} & free
        if wider == reached:
            return -1
        reached, steps = wider, steps + 1
    return steps


@stdio(examples=[("S.#\n#..\n..E\n", "4\n"), ("S#E\n", "-1\n")],
       hidden=["SE\n", "ES\n", "S.\n.E\n", "S..\n##.\nE..\n", "S#\n#E\n", "S......E\n", "E\n.\n.\nS\n",
               "S.#.E\n..#..\n.....\n", "#####\n#S#E#\n#...#\n#####\n", "S.....\n####..\n......\n..####\n.....E\n"],
       also=flood)
def maze():
    """The input is a map of a maze: "S" is the start, "E" the exit, "." a free field, "#" a wall. A step goes one field
    up, down, left or right. Print the smallest number of steps from the start to the exit, or -1 if there is no way."""
    import sys
    rows = sys.stdin.read().split()
    start = next((y, x) for y, row in enumerate(rows) for x, field in enumerate(row) if field == "S")
    steps, queue = {start: 0}, [start]
    for y, x in queue:
        if rows[y][x] == "E":
            print(steps[y, x])
            break
        for at in ((y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)):
            inside = 0 <= at[0] < len(rows) and 0 <= at[1] < len(rows[0])
            if inside and at not in steps and rows[at[0]][at[1]] != "#":
                steps[at] = steps[y, x] + 1
                queue.append(at)
    else:
        print(-1)


@stdio(examples=[("pay 50\nbuy 20\nbuy 40\nbuy 30\n", "0 refused 1\n"), ("buy 1\n", "0 refused 1\n")],
       hidden=["pay 5\n", "pay 5\npay 7\n", "pay 10\nbuy 10\n", "pay 10\nbuy 11\n", "", "buy 1\nbuy 2\npay 3\n",
               "pay 100\nbuy 30\nbuy 30\nbuy 30\nbuy 30\n", "pay 1\nbuy 2\npay 1\nbuy 2"],
       also=lambda given: __import__("functools").reduce(
           lambda state, line: (state[0] + int(line[4:]), state[1]) if line[0] == "p" else
           (state[0] - int(line[4:]), state[1]) if int(line[4:]) <= state[0] else (state[0], state[1] + 1),
           given.splitlines(), (0, 0)).__repr__().translate(str.maketrans({"(": "", ")": "", ",": " refused"})))
def canteen_card():
    """A canteen card starts at 0. Each line of the input is "pay X", which puts X on the card, or "buy X", which
    takes X off, unless there is less than X on the card: then the purchase is refused. X is a whole number. Print what
    is on the card at the end, the word "refused" and how many purchases were refused, separated by spaces."""
    import sys
    card = refused = 0
    for line in sys.stdin:
        what, amount = line.split()
        if what == "pay":
            card += int(amount)
        elif int(amount) <= card:
            card -= int(amount)
        else:
            refused += 1
    print(card, "refused", refused)


@stdio(examples=[("one fish two fish\n", "fish 2\none 1\ntwo 1\n"), ("b a\nb a\n", "a 2\nb 2\n")],
       hidden=["word\n", "a b c\n", "c b a\n", "x x x y y z\n", "Tea tea TEA\n", "\n\n", "a  a\n\n b\n",
               "to be or not to be"],
       also=lambda given: "\n".join(f"{w} {-n}" for n, w in sorted((-given.split().count(w), w)
                                                                   for w in set(given.split()))))
def word_count():
    """The input is a text of any number of lines; words are separated by spaces or line ends. Print each different word
    and how often it occurs, one word a line, the most frequent first. Words of equal count are sorted as texts. Small
    and capital letters are different."""
    import sys
    counts = {}
    for word in sys.stdin.read().split():
        counts[word] = counts.get(word, 0) + 1
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        print(word, counts[word])


@stdio(examples=[("2 3\n1 2 3\n4 5 6\n", "4 1\n5 2\n6 3\n"), ("1 1\n9\n", "9\n")],
       hidden=["1 3\n1 2 3\n", "3 1\n1\n2\n3\n", "2 2\n1 2\n3 4\n", "3 3\n1 2 3\n4 5 6\n7 8 9\n", "2 2\n0 0\n0 1\n",
               "1 2\n-1 -2\n", "3 2\n1 2\n3 4\n5 6\n", "2 4\n1 2 3 4\n5 6 7 8"],
       also=lambda given: "\n".join(
           " ".join(row[i] for row in reversed([line.split() for line in given.splitlines()[1:]]))
           for i in range(int(given.split()[1]))))
def quarter_turn():
    """The first line of the input has two whole numbers: rows and columns of a table. Then the rows follow, one a line,
    numbers separated by spaces. Print the table turned to the right by a quarter, in the same form without the first
    line: its first row is the old first column, read from the bottom up."""
    rows, columns = map(int, input().split())
    table = [input().split() for _ in range(rows)]
    for column in range(columns):
        print(*[table[row][column] for row in range(rows - 1, -1, -1)])
