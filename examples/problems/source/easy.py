"""Problems of a few lines: a loop, a condition, a case at the edge."""

from problem_kit import call, script, stdio


@call(hidden=[[], [4], [4, 4], [1, 2], [2, 1, 2], [-1, -2, -3], [9, 9, 8, 8], [5, 1, 4, 2, 3], [0, -1, 0]],
      also=lambda numbers: dict(enumerate(sorted(set(numbers), reverse=True))).get(1))
def runner_up(numbers):
    """Return the second largest of the different numbers in the list, or None if there are fewer than two.

    >>> runner_up([3, 8, 5])
    5
    >>> runner_up([7, 7, 2])
    2
    >>> runner_up([6, 6])
    """
    different = sorted(set(numbers))
    return different[-2] if len(different) > 1 else None


@call(hidden=["", "one", "a a", "it was a cat", "  spaced   out  ", "x yy zzz", "end.", "don't stop"],
      also=lambda text: {word: len(word) for word in text.split(" ") if word})
def word_lengths(text):
    """Return a dictionary that gives for each word of the text its length. Words are separated by spaces.

    >>> word_lengths("we like tea")
    {'we': 2, 'like': 4, 'tea': 3}
    >>> word_lengths("go go")
    {'go': 2}
    """
    lengths = {}
    for word in text.split():
        lengths[word] = len(word)
    return lengths


@call(hidden=[[], [0], [5], [1, -1, 1, -1], [10, 20, 30], [-5, 5], [2] * 10, [100, -50, 25]],
      also=lambda numbers: [sum(numbers[:i + 1]) for i in range(len(numbers))])
def running_total(numbers):
    """Return a list of the same length in which each item is the sum of all numbers up to that place.

    >>> running_total([1, 2, 3])
    [1, 3, 6]
    >>> running_total([4, -1])
    [4, 3]
    """
    sums, so_far = [], 0
    for number in numbers:
        so_far += number
        sums.append(so_far)
    return sums


@call(hidden=[[], [1], [1, 1, 1], [1, 2, 3], [3, 3, 2, 1, 2], ["b", "a", "b"], [0, -1, 0, -1], [[1], [1], [2]]],
      also=lambda items: [item for i, item in enumerate(items) if item not in items[:i]])
def without_repeats(items):
    """Return the list without repeated items. Of equal items the first one stays; the order is kept.

    >>> without_repeats([3, 1, 3, 2, 1])
    [3, 1, 2]
    >>> without_repeats(["a", "a"])
    ['a']
    """
    kept = []
    for item in items:
        if item not in kept:
            kept.append(item)
    return kept


@call(hidden=[0, 7, 10, -45, 999, 100001, -8, 123456789, 10**20], also=lambda n: sum(map(int, str(abs(n)))))
def digit_sum(n):
    """Return the sum of the decimal digits of a whole number. The sign does not matter.

    >>> digit_sum(345)
    12
    >>> digit_sum(-20)
    2
    """
    n, digits = abs(n), 0
    while n:
        digits += n % 10
        n //= 10
    return digits


@call(hidden=[-3, 0, 1, 2, 3, 4, 25, 49, 97, 91, 7919, 7921],
      also=lambda n: n > 1 and not any(n % d == 0 for d in range(2, n)))
def is_prime(n):
    """Return True if n is a prime number. Numbers below 2 are not prime.

    >>> is_prime(7)
    True
    >>> is_prime(9)
    False
    """
    if n < 2:
        return False
    divisor = 2
    while divisor * divisor <= n:
        if n % divisor == 0:
            return False
        divisor += 1
    return True


@call(hidden=[(1, 1), (12, 18), (17, 5), (100, 75), (0, 9), (9, 0), (270, 192), (2**20, 6**10)],
      also=lambda a, b: __import__("math").gcd(a, b))
def common_divisor(a, b):
    """Return the largest whole number that divides both a and b. If one of them is 0, that is the other one.

    >>> common_divisor(8, 12)
    4
    >>> common_divisor(7, 3)
    1
    """
    while b:
        a, b = b, a % b
    return a


@call(hidden=[1, 2, 3, 9, 12, 13, 15, 20],
      also=lambda n: ["clap" if "3" in str(k) or k in range(3, n + 1, 3) else k for k in range(1, n + 1)])
def clapping_game(n):
    """Return the list of the numbers 1 to n, but "clap" for each number that is divisible by 3 or has a digit 3.

    >>> clapping_game(4)
    [1, 2, 'clap', 4]
    >>> clapping_game(6)
    [1, 2, 'clap', 4, 5, 'clap']
    """
    said = []
    for number in range(1, n + 1):
        said.append("clap" if number % 3 == 0 or "3" in str(number) else number)
    return said


@call(hidden=[[], [1], [1, 2], [1, 2, 3], ["a", "b", "c", "d"], [0, 0, 1, 1], [5, 4, 3, 2, 1], [True, False]],
      also=lambda items: [items[i + 1 if i % 2 == 0 and i + 1 < len(items) else i - i % 2] for i in range(len(items))])
def swap_neighbours(items):
    """Swap the first item with the second, the third with the fourth and so on. A last item without a partner stays.

    >>> swap_neighbours([1, 2, 3, 4])
    [2, 1, 4, 3]
    >>> swap_neighbours(["x", "y", "z"])
    ['y', 'x', 'z']
    """
    swapped = list(items)
    for i in range(0, len(items) - 1, 2):
        swapped[i], swapped[i + 1] = items[i + 1], items[i]
    return swapped


@call(hidden=[([], 3), ([1], 1), ([1, 2, 3], 1), ([1, 2, 3], 5), ([1, 2, 3, 4], 4), (["a", "b", "c"], 2),
              (list(range(10)), 3), ([0] * 6, 2)],
      also=lambda items, size: [[items[i] for i in range(len(items)) if i // size == block]
                                for block in range(-(-len(items) // size))])
def in_blocks(items, size):
    """Cut the list into blocks of `size` items each, in order. The last block may be shorter.

    >>> in_blocks([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
    >>> in_blocks([1, 2], 2)
    [[1, 2]]
    """
    return [items[start:start + size] for start in range(0, len(items), size)]


@call(hidden=[("", 3), ("xyz", 3), ("Abc, Z!", 1), ("hello", 0), ("hello", 26), ("b", -1), ("MiX", 13), ("a1b2", 27)],
      also=lambda text, shift: text.translate({ord(a) + i: ord(a) + (i + shift) % 26 for a in "aA" for i in range(26)}))
def shift_letters(text, shift):
    """Move each letter of the text `shift` places on in the alphabet, from z back to a. Other characters stay.

    Small letters stay small and capital letters stay capital. The text has only English letters.

    >>> shift_letters("abz", 1)
    'bca'
    >>> shift_letters("Hi!", 2)
    'Jk!'
    """
    moved = ""
    for character in text:
        if character.isalpha():
            first = ord("A") if character.isupper() else ord("a")
            moved += chr((ord(character) - first + shift) % 26 + first)
        else:
            moved += character
    return moved


@call(hidden=[([], []), ([1], []), ([1, 1], [1]), ([3, 1, 2], [2, 3, 4]), ([5, 6], [7, 8]), ([-1, 0], [0, -1]),
              ([2, 2, 3], [3, 2, 2]), ([10, 9, 8], [8, 9, 10, 11])],
      also=lambda first, second: [n for n in sorted(set(first)) if n in second])
def in_both(first, second):
    """Return the numbers that occur in both lists, each once, from small to large.

    >>> in_both([4, 1, 3], [3, 4, 9])
    [3, 4]
    >>> in_both([1, 1], [2])
    []
    """
    return sorted(set(first) & set(second))


@call(hidden=["a", "one two", "aa bb c", "the quick fox", "tiny enormous big", "end is longest", "same size word",
              "x yy yy"],
      also=lambda text: sorted(text.split(), key=len, reverse=True)[0])
def longest_word(text):
    """Return the longest word of a text that has at least one word. Of several longest words, return the first.

    >>> longest_word("a green apple tree")
    'green'
    >>> longest_word("go on")
    'go'
    """
    best = ""
    for word in text.split():
        if len(word) > len(best):
            best = word
    return best


@call(hidden=[1, 2, 3, 4, 8, 255, 1000, 2**30 + 1], also=lambda n: f"{n:b}")
def in_binary(n):
    """Return the whole number n, which is 0 or larger, written in binary, as a text without leading zeros.

    >>> in_binary(5)
    '101'
    >>> in_binary(0)
    '0'
    """
    digits = ""
    while n > 0:
        digits = str(n % 2) + digits
        n //= 2
    return digits or "0"


@call(hidden=[([], []), ([1], []), ([], [1]), ([1, 2], [3, 4]), ([1, 2, 3], [9]), ([1], [7, 8, 9]), (["a"], ["b"]),
              ([0, 0], [1, 1, 1])],
      also=lambda first, second: [item for pair in __import__("itertools").zip_longest(first, second, fillvalue=...)
                                  for item in pair if item is not ...])
def zip_up(first, second):
    """Take items in turn from the first and from the second list. When one is used up, the rest of the other follows.

    >>> zip_up([1, 3, 5], [2, 4])
    [1, 2, 3, 4, 5]
    >>> zip_up(["a"], ["b", "c"])
    ['a', 'b', 'c']
    """
    mixed = []
    for i in range(max(len(first), len(second))):
        mixed += first[i:i + 1] + second[i:i + 1]
    return mixed


@call(hidden=[[], [5], [1, 1], [1, 2], [2, 1], [1, 2, 3, 4], [4, 3, 2, 1], [1, 5, 2, 6, 3], [0, -1, 0]],
      also=lambda heights: len([1 for i in range(1, len(heights)) if heights[i] > heights[i - 1]]))
def count_rises(heights):
    """Count how often a height is larger than the one just before it.

    >>> count_rises([1, 3, 2, 4])
    2
    >>> count_rises([5, 5])
    0
    """
    return sum(before < after for before, after in zip(heights, heights[1:]))


@call(hidden=[([], 0, 1), ([5], 0, 3), ([-5], 0, 3), ([1, 2, 3], 2, 2), ([0, 3], 0, 3), ([10, -10, 0], -5, 5),
              ([1.5, 2.5], 1, 2), ([7, 8, 9], 0, 100)],
      also=lambda numbers, low, high: [sorted([low, number, high])[1] for number in numbers])
def keep_within(numbers, low, high):
    """Return the numbers, with each one below `low` replaced by `low` and each one above `high` replaced by `high`.

    >>> keep_within([1, 5, 9], 2, 6)
    [2, 5, 6]
    >>> keep_within([3], 0, 10)
    [3]
    """
    return [min(max(number, low), high) for number in numbers]


@call(hidden=[[["x"]], [[1]], [[1, 2, 3]], [[1], [2], [3]], [[1, 2], [3, 4]], [["a", "b"]], [[0, 0], [0, 1], [1, 0]],
              [[1, 2, 3], [4, 5, 6], [7, 8, 9]]],
      also=lambda rows: [[row[i] for row in rows] for i in range(len(rows[0]) if rows else 0)])
def columns(rows):
    """Return the columns of a table that is given as a list of rows of equal length.

    >>> columns([[1, 2], [3, 4], [5, 6]])
    [[1, 3, 5], [2, 4, 6]]
    >>> columns([])
    []
    """
    return [list(column) for column in zip(*rows)]


@call(hidden=[0, 59, 60, 61, 3599, 3600, 3661, 86399, 360000],
      also=lambda seconds: f"{seconds // 3600}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}")
def clock_text(seconds):
    """Write a number of seconds as hours, minutes and seconds: h:mm:ss, with two digits for minutes and seconds.

    >>> clock_text(75)
    '0:01:15'
    >>> clock_text(3605)
    '1:00:05'
    """
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return str(hours) + ":" + str(minutes).zfill(2) + ":" + str(rest).zfill(2)


@call(hidden=[{}, {"a": 1}, {"a": 2, "b": 1}, {"x": 5, "y": 5}, {"mia": 3, "ben": 3, "zoe": 4}, {"n": -1, "m": 0},
              {"b": 1, "a": 1, "c": 1}, {"one": 10, "two": 7, "three": 10}],
      also=lambda scores: [n for s in sorted(set(scores.values()), reverse=True)
                           for n in sorted(scores) if scores[n] == s])
def score_board(scores):
    """Return the names of the dictionary from the highest to the lowest score. Equal scores: by name, a to z.

    >>> score_board({"ann": 3, "bob": 7})
    ['bob', 'ann']
    >>> score_board({"tim": 1, "kim": 1})
    ['kim', 'tim']
    """
    return sorted(scores, key=lambda name: (-scores[name], name))


@script(test="""
def check(candidate):
    for items in ([1], [1, 2], [1, 2, 3, 4, 5], ["a", "b", "c"]):
        n = len(items)
        assert candidate(list(items), 0) == items, "0 steps change nothing"
        assert candidate(list(items), n) == items, "as many steps as items change nothing"
        for steps in range(3 * n):
            got = candidate(list(items), steps)
            assert [got[(i + steps) % n] for i in range(n)] == items, f"{steps} steps"
        assert candidate(candidate(list(items), 2), n * 5 - 2) == items
    assert candidate([], 3) == []
""")
def turn_right(items, steps):
    """Move every item of the list `steps` places to the right; what falls off the end comes back at the front.

    >>> turn_right([1, 2, 3, 4], 1)
    [4, 1, 2, 3]
    >>> turn_right([1, 2, 3], 4)
    [3, 1, 2]
    """
    if not items:
        return []
    steps %= len(items)
    return items[len(items) - steps:] + items[:len(items) - steps]


@script(test="""
def check(candidate):
    for total in range(0, 60):
        for parts in range(1, 9):
            shares = candidate(total, parts)
            assert len(shares) == parts, "one share for each part"
            assert sum(shares) == total, "the shares make up the total"
            assert max(shares) - min(shares) <= 1, "shares differ by at most 1"
            assert all(type(share) is int for share in shares), "whole numbers"
""")
def fair_shares(total, parts):
    """Share out `total` coins among `parts` people as fairly as possible: a list of whole numbers, in any order.

    The shares add up to `total`, and no two of them differ by more than 1.

    >>> fair_shares(10, 2)
    [5, 5]
    """
    return [total // parts + (1 if i < total % parts else 0) for i in range(parts)]


@script(test="""
def check(candidate):
    for text in ("", "a", "aa", "ab", "noon", "banana", "b a n", "aabbccdde"):
        got = candidate(text)
        assert sorted(got) == sorted(text), "other letters than were given"
        blocks = [c for i, c in enumerate(got) if i == 0 or got[i - 1] != c]
        assert len(blocks) == len(set(text)), "equal characters must stand together"
""")
def gather(text):
    """Reorder the characters of the text so that equal characters stand together. Any such order will do.

    >>> gather("aaa")
    'aaa'
    """
    gathered = ""
    for character in text:
        if character not in gathered:
            gathered += character * text.count(character)
    return gathered


@stdio(examples=[("3\n4 5 6\n", "15\n"), ("1\n-2\n", "-2\n")],
       hidden=["1\n0\n", "2\n1 -1\n", "5\n1 2 3 4 5\n", "4\n10 10 10 10\n", "3\n-1 -2 -3\n", "6\n1\n2\n3\n4\n5\n6\n",
               "2\n1000000000 1000000000\n", "3\n7 8 9"],
       also=lambda given: sum(map(int, given.split()[1:])))
def sum_of_many():
    """The input is a whole number n, at least 1, followed by n whole numbers, separated by spaces or line ends.
    Print the sum of those n numbers."""
    import sys
    words = sys.stdin.read().split()
    print(sum(int(word) for word in words[1:int(words[0]) + 1]))


@stdio(examples=[("4 1 3\n", "1 4\n"), ("5\n", "5 5\n")],
       hidden=["0\n", "1 2\n", "2 1\n", "-1 -5 -3\n", "7 7 7\n", "10 -10 0\n", "3 1 4 1 5 9 2 6\n", "100 99 98"],
       also=lambda given: "{0} {1}".format(*[sorted(map(int, given.split()))[i] for i in (0, -1)]))
def low_and_high():
    """The input is one line of whole numbers, separated by spaces. Print the smallest and the largest of them,
    separated by a space."""
    numbers = [int(word) for word in input().split()]
    print(min(numbers), max(numbers))


@stdio(examples=[("3\n", "*\n**\n***\n"), ("1\n", "*\n")],
       hidden=["2\n", "4\n", "5\n", "6\n", "8\n", "10", "12\n", "20\n"],
       also=lambda given: "\n".join("*" * (i + 1) for i in range(int(given))))
def staircase():
    """The input is one whole number n, at least 1. Print a staircase of n lines: one star, then two stars, and so on up
    to n stars."""
    for width in range(1, int(input()) + 1):
        print("*" * width)


@stdio(examples=[("good tea\nno cake\ntea time\n", "2\n"), ("nothing here\n", "0\n")],
       hidden=["tea\n", "", "TEA\n", "tea tea tea\n", "steam\n\ntea\n", "a\nb\nc\n", "te a\n",
               "team\nteal\nteak\ntin\n"],
       also=lambda given: len([line for line in given.split("\n") if line.count("tea")]))
def tea_lines():
    """The input is any number of lines. Print how many of them contain the letters "tea" (small letters, in a row,
    anywhere in the line)."""
    import sys
    print(sum("tea" in line for line in sys.stdin))


@stdio(examples=[("3 4\n", "3 6 9 12\n"), ("7 1\n", "7\n")],
       hidden=["1 1\n", "1 5\n", "0 3\n", "-2 4\n", "10 10\n", "9 2\n", "12 3", "100 5\n"],
       also=lambda given: " ".join(str(int(given.split()[0]) * (i + 1)) for i in range(int(given.split()[1]))))
def table_row():
    """The input is one line with two whole numbers a and n, n at least 1. Print the first n multiples of a (a, 2a, 3a,
    ...) on one line, separated by spaces."""
    a, n = map(int, input().split())
    print(*[a * k for k in range(1, n + 1)])
