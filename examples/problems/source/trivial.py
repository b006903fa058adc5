"""Problems of one or two lines: a small model solves some of them at the first turn."""

from problem_kit import call, script, stdio


@call(hidden=[[], [0], [-4], [-5, 5], [10, 20, 30, 40], [7, -2, 9, -11], [1] * 50, [10**12, 1]],
      also=lambda numbers: __import__("functools").reduce(lambda a, b: a + b, numbers, 0))
def total(numbers):
    """Return the sum of all numbers in the list. The sum of an empty list is 0.

    >>> total([1, 2, 3])
    6
    >>> total([10, -4])
    6
    """
    return sum(numbers)


@call(hidden=["", "z", "ab", "noon", "two words", "  lead", "A1b2!", "ünï"],
      also=lambda text: "".join(reversed(text)))
def backwards(text):
    """Return the text with its characters in reverse order.

    >>> backwards("cat")
    'tac'
    >>> backwards("a b")
    'b a'
    """
    return text[::-1]


@call(hidden=[(3, 2, 1), (1, 3, 2), (5, 5, 5), (-1, -2, -3), (0, 0, 1), (7, 7, 2), (-10, 4, 4), (10**9, 1, 10**9 + 1)],
      also=lambda a, b, c: sorted([a, b, c])[2])
def largest_of_three(a, b, c):
    """Return the largest of the three numbers a, b and c.

    >>> largest_of_three(1, 2, 3)
    3
    >>> largest_of_three(9, 4, 5)
    9
    """
    return max(a, b, c)


@call(hidden=["", "xyz", "aeiou", "banana split", "AEIOU", "Queue", "rhythm", "one, two, three!"],
      also=lambda text: len([c for c in text.lower() if c in "aeiou"]))
def count_vowels(text):
    """Return how many vowels (a, e, i, o, u, small or capital) the text has.

    >>> count_vowels("hello")
    2
    >>> count_vowels("Apple")
    2
    """
    return sum(text.lower().count(vowel) for vowel in "aeiou")


@call(hidden=[(0, 0), (5, 9), (9, 5), (-3, -8), (-3, 4), (100, 1), (2.5, 1.0), (-7, -7)],
      also=lambda a, b: max(a, b) - min(a, b))
def distance(a, b):
    """Return the distance between two numbers on the number line. It is never negative.

    >>> distance(3, 10)
    7
    >>> distance(4, -1)
    5
    """
    return abs(a - b)


@call(hidden=[[5], [1, 2], ["a", "b", "c"], [[1], [2, 3]], [0, 0, -1], [True, False], list(range(30)), ["only"]],
      also=lambda items: items.pop())
def last_item(items):
    """Return the last item of the list. The list is not empty.

    >>> last_item([4, 8, 6])
    6
    >>> last_item(["x"])
    'x'
    """
    return items[-1]


@call(hidden=[0, 1, 2, -2, -3, 1000, 999999, 10**12], also=lambda n: n // 2 * 2 == n)
def is_even(n):
    """Return True if the whole number n is even and False if it is odd.

    >>> is_even(4)
    True
    >>> is_even(7)
    False
    """
    return n % 2 == 0


@call(hidden=[[], [0], [5], [-1, 1], [2, 2, 2], [10, 0, -10], [1.5, 2.5], [100, 200, 300, 400]],
      also=lambda numbers: [n + n for n in numbers])
def double_all(numbers):
    """Return a new list in which every number is twice as large.

    >>> double_all([1, 2, 3])
    [2, 4, 6]
    >>> double_all([-5])
    [-10]
    """
    return [2 * number for number in numbers]


@call(hidden=["", "a", "Stop", "ALREADY LOUD", "two words", "123", "what?", "miXed"],
      also=lambda text: f"{text.upper()}!")
def shout(text):
    """Return the text in upper case, followed by one exclamation mark.

    >>> shout("hello")
    'HELLO!'
    >>> shout("ok then")
    'OK THEN!'
    """
    return text.upper() + "!"


@call(hidden=[[0], [5], [1, 3], [-1, 1], [2, 4, 9], [1.5, 2.5], [10] * 7, [1, 0, 0, 0]],
      also=lambda numbers: __import__("statistics").fmean(numbers))
def average(numbers):
    """Return the average of the numbers. The list is not empty.

    >>> average([2, 4, 6])
    4.0
    >>> average([1, 2])
    1.5
    """
    return sum(numbers) / len(numbers)


@call(hidden=[0, 1, -1, 7, -12, 100, 2.5, 10**6], also=lambda n: n**2)
def square(n):
    """Return n times n.

    >>> square(3)
    9
    >>> square(-4)
    16
    """
    return n * n


@call(hidden=["q", "Word", "ünder", "two words", "X", "9 lives", "elephant", "mm"],
      also=lambda word: list(word.upper())[0])
def initial(word):
    """Return the first letter of the word in upper case. The word is not empty.

    >>> initial("maria")
    'M'
    >>> initial("Tom")
    'T'
    """
    return word[0].upper()


@call(hidden=[37, -40, 10, 25, 36.6, -273.15, 1, 1000], also=lambda c: 32 + 1.8 * c)
def to_fahrenheit(celsius):
    """Convert a temperature from degrees Celsius to degrees Fahrenheit: multiply by 9/5, then add 32.

    >>> to_fahrenheit(100)
    212.0
    >>> to_fahrenheit(0)
    32.0
    """
    return celsius * 9 / 5 + 32


@call(hidden=[([], 1), ([1], 1), ([1, 2], 3), (["a", "b"], "b"), (["ab"], "a"), ([0, 0], 0), ([-1], 1), ([[1]], [1])],
      also=lambda items, wanted: items.count(wanted) > 0)
def has_item(items, wanted):
    """Return True if the list contains the wanted item and False if it does not.

    >>> has_item([3, 5, 7], 5)
    True
    >>> has_item(["red", "blue"], "green")
    False
    """
    return wanted in items


@call(hidden=[[5], [2, 1], [-1, -7, 3], [0, 0], [10, 9, 8, 9], [2.5, 2.25], [100, -100], [3, 3, 1, 3]],
      also=lambda numbers: sorted(numbers)[0])
def smallest(numbers):
    """Return the smallest number in the list. The list is not empty.

    >>> smallest([4, 2, 8])
    2
    >>> smallest([-1, 5])
    -1
    """
    return min(numbers)


@call(hidden=[("a", 0), ("", 5), ("xy", 1), ("-", 10), ("no ", 2), ("abc", 4), ("0", 3), ("z", 20)],
      also=lambda text, times: "".join([text] * times))
def repeat(text, times):
    """Return the text written several times in a row, with nothing in between.

    >>> repeat("ab", 3)
    'ababab'
    >>> repeat("hi", 1)
    'hi'
    """
    return text * times


@call(hidden=[([], 1), ([1, 1, 1], 1), ([1, 2, 3], 4), (["a", "A", "a"], "a"), ([0, -0, 0], 0), ([[1], [1]], [1]),
              (["ab", "b"], "b"), ([5], 5)],
      also=lambda items, wanted: len([item for item in items if item == wanted]))
def how_many(items, wanted):
    """Return how many times the wanted item occurs in the list.

    >>> how_many([1, 2, 1, 3], 1)
    2
    >>> how_many(["a", "b"], "c")
    0
    """
    return items.count(wanted)


@call(hidden=[[], ["one"], ["a", "b", "c"], ["", ""], ["x", "", "y"], ["no-break", "here"], ["1", "2"], ["end."]],
      also=lambda words: "".join(w + " " for w in words)[:-1])
def join_words(words):
    """Return all words of the list as one text, with a single space between two words.

    >>> join_words(["good", "morning"])
    'good morning'
    >>> join_words(["hello"])
    'hello'
    """
    return " ".join(words)


@call(hidden=["", "a", "ab", "aba", "abba", "abca", "Noon", "never odd"],
      also=lambda text: all(text[i] == text[-1 - i] for i in range(len(text))))
def is_mirror(text):
    """Return True if the text reads the same forwards and backwards. Small and capital letters are different.

    >>> is_mirror("level")
    True
    >>> is_mirror("lever")
    False
    """
    return text == text[::-1]


@call(hidden=[(1, 1), (3, 4), (10, 0), (0, 0), (2.5, 1.5), (7, 100), (6, 6), (1000, 1)],
      also=lambda width, height: width + width + height + height)
def fence_length(width, height):
    """Return the length of a fence around a rectangular garden with the given width and height.

    >>> fence_length(2, 3)
    10
    >>> fence_length(5, 5)
    20
    """
    return 2 * (width + height)


@call(hidden=[[], [0], [-1, -2], [1, 2], [0, 1, 0, 2], [-5, 5, -5, 5], [0.5, -0.5], [9, -9, 8]],
      also=lambda numbers: list(filter(lambda n: n > 0, numbers)))
def only_positive(numbers):
    """Return the numbers that are larger than 0, in the same order.

    >>> only_positive([3, -1, 4])
    [3, 4]
    >>> only_positive([-2, 0])
    []
    """
    return [number for number in numbers if number > 0]


@call(hidden=[0, 1, 2, 3, 6, 10, 15, 25], also=lambda n: __import__("math").factorial(n))
def product_up_to(n):
    """Return the product 1 * 2 * ... * n. For n = 0 it is 1.

    >>> product_up_to(4)
    24
    >>> product_up_to(5)
    120
    """
    product = 1
    for factor in range(2, n + 1):
        product *= factor
    return product


@script(test="""
def check(candidate):
    assert candidate([]) == []
    for numbers in ([4], [1, 2, 3], [3, 2, 1], [5, 5, 1], [-1, 0, 1], [2, 9, 2, 9], list(range(-20, 20))):
        got = candidate(list(numbers))
        assert len(got) == len(numbers), "the result has another length"
        assert all(got[i] >= got[i + 1] for i in range(len(got) - 1)), "not from large to small"
        assert sorted(got) == sorted(numbers), "other numbers than were given"
""")
def high_to_low(numbers):
    """Return the numbers of the list sorted from the largest to the smallest.

    >>> high_to_low([2, 3, 1])
    [3, 2, 1]
    """
    return sorted(numbers, reverse=True)


@stdio(examples=[("3 4\n", "7\n"), ("10 -2\n", "8\n")],
       hidden=["0 0\n", "-5 -6\n", "100 200\n", "1 1", "999999999 1\n", "  7 8  \n", "-1 1\n", "123 456\n"],
       also=lambda given: sum(int(word) for word in given.split()))
def add_two():
    """The input is one line with two whole numbers, separated by a space. Print their sum."""
    a, b = input().split()
    print(int(a) + int(b))


@stdio(examples=[("hello\n", "HELLO\n"), ("good day\n", "GOOD DAY\n")],
       hidden=["a\n", "ABC\n", "MiXeD\n", "one 2 three\n", "dots...\n", "no newline", "x y z\n", "123\n"],
       also=lambda given: "".join(c.upper() for c in given))
def capital_line():
    """The input is one line of text. Print it in capital letters."""
    print(input().upper())


@stdio(examples=[("5\n", "1\n2\n3\n4\n5\n"), ("2\n", "1\n2\n")],
       hidden=["1\n", "3\n", "10\n", "7\n", "4", "20\n", "15\n", "100\n"],
       also=lambda given: " ".join(str(i + 1) for i in range(int(given))))
def count_up():
    """The input is one whole number n, at least 1. Print the numbers from 1 to n, each on its own line."""
    for number in range(1, int(input()) + 1):
        print(number)
