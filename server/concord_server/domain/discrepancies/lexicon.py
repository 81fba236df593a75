"""Words that exclude or include each other: WordNet's antonyms, relatives, and groups of exclusive values."""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import resources

from concord_server.domain.discrepancies.words import stem

_DATA = "concord_server.domain.discrepancies.data"

_MORE_ANTONYMS = """like hate|like dislike|love hate|enjoy hate|enjoy dislike|enable disable|enabled disabled|on off|open closed|open shut|
allow forbid|allow ban|allow deny|allow prohibit|permit forbid|accept reject|approve reject|pass fail|succeed fail|win lose|
buy sell|start stop|begin end|arrive leave|include exclude|full empty|alive dead|public private|upper lower|public secret|
married single|married divorced|married unmarried|single engaged|present absent|online offline|active inactive|
before after|inside outside|encrypted plaintext|synchronous asynchronous|manual automatic|mandatory optional|required optional|
free paid|guilty innocent|import export|upload download|push pull|attack defend|borrow lend|teach learn|hire fire|
employ fire|raise lower|raise cut|increase decrease|increase reduce|grow shrink|gain lose|rise fall|expand contract|
appear disappear|connect disconnect|agree disagree|trust distrust|legal illegal|cheap expensive|safe dangerous|hot cold|warm cool|
early late|fast slow|quick slow|rich poor|young old|new old|big small|large small|tall short|long short|high low|wide narrow|
thick thin|heavy light|bright dark|strong weak|hard soft|hard easy|difficult easy|noisy quiet|loud quiet|happy sad|good bad|
right wrong|true false|clean dirty|wet dry|deep shallow|smooth rough|sharp blunt|awake asleep|front back|first last|best worst|
highest lowest|more less|most least|maximum minimum|majority minority|north south|east west|northern southern|eastern western|
left right|top bottom|day night|summer winter|deny confirm|deny admit|stable unstable|vegetarian carnivore|indoor outdoor|
indoors outdoors|junior senior|temporary permanent|internal external|local remote|horizontal vertical|male female|
forward backward|entrance exit|friend enemy|victory defeat|success failure|profit loss|credit debit|primary secondary|
laugh cry|smile frown|sit stand|sleep wake|push pull|throw catch|lock unlock|pack unpack|load unload|wrap unwrap|
dress undress|cover uncover|tie untie|plug unplug|install uninstall|subscribe unsubscribe|follow unfollow|add remove|
add delete|attach detach|assemble disassemble|ascend descend|climb descend|float sink|freeze melt|build demolish|create destroy|
fix break|fill empty|hide show|reveal hide|remember forget|support oppose|praise criticise|praise criticize|defend attack|
keep discard|save waste|speed slow|strengthen weaken|tighten loosen|shorten lengthen|widen narrow|encourage discourage|
correct wrong|right incorrect|same different|much little|smart stupid|intelligent stupid|clever stupid|serious playful|many few|
likely unlikely|beautiful ugly|brave cowardly|calm nervous|polite rude|generous stingy|lazy hardworking"""
_CONVERSES = frozenset(
    frozenset(stem(word) for word in pair.split())
    for pair in ["parent child", "employer employee", "teacher student", "teacher pupil", "lender borrower", "host guest", "doctor patient"]
)
"""Two ends of one relation, not opposites: who is a parent of two has two children."""

_GROUPS = {
    "colour": """red orange yellow green blue indigo purple violet pink brown black white grey gray beige turquoise maroon navy
        silver golden gold crimson scarlet teal magenta cyan lilac""",
    "direction": "north south east west northeast northwest southeast southwest northern southern eastern western",
    "frequency": "hourly daily weekly fortnightly biweekly monthly quarterly yearly annually nightly",
    "marital": "married single divorced widowed engaged unmarried",
    "season": "spring summer autumn winter",
    "meal": "breakfast lunch dinner supper brunch",
    "diet": "vegan vegetarian pescatarian carnivore omnivore",
    "language": """english french german spanish italian portuguese russian polish dutch swedish danish norwegian finnish greek
        turkish arabic hebrew hindi urdu bengali tamil mandarin cantonese chinese japanese korean vietnamese thai indonesian malay
        swahili yoruba zulu ukrainian czech hungarian romanian""",
    "instrument": "piano guitar violin cello flute trumpet drum saxophone clarinet harp banjo trombone accordion ukulele",
    "animal": "dog cat horse cow sheep goat pig rabbit hamster parrot fish snake lion tiger bear elephant monkey mouse bird duck",
    "vehicle": "car bus train tram bicycle bike motorcycle truck boat ship plane airplane helicopter scooter ferry",
    "material": "wood steel brick stone glass concrete plastic copper iron aluminium aluminum marble leather cotton wool silk",
    "planet": "mercury venus earth mars jupiter saturn uranus neptune pluto",
    "relative": "mother father brother sister son daughter uncle aunt nephew niece husband wife grandmother grandfather",
    "gender": "man woman",
    "youth": "boy girl",
    "rank": "intern junior senior staff principal",
    "drink": "tea coffee beer wine water milk juice whisky vodka lemonade cola",
    "sport": "football soccer tennis basketball baseball hockey golf cricket rugby volleyball badminton swimming cycling skiing",
}


@cache
def antonyms() -> dict[str, frozenset[str]]:
    """Returns stem → stems of its opposites."""
    table: dict[str, set[str]] = {}
    lines = resources.files(_DATA).joinpath("antonyms.txt").read_text(encoding="utf-8").splitlines()
    pairs = [tuple(line.split("\t")) for line in lines if "\t" in line]
    pairs += [tuple(pair.split()) for pair in _MORE_ANTONYMS.replace("\n", "").split("|")]
    for one, other in pairs:
        first, second = stem(one), stem(other)
        if first != second and frozenset((first, second)) not in _CONVERSES:
            table.setdefault(first, set()).add(second)
            table.setdefault(second, set()).add(first)
    return {word: frozenset(others) for word, others in table.items()}


@cache
def relatives() -> dict[str, str]:
    """Returns stem → stems of its synonyms and nearest broader words, in one string; the keys are ordinary words."""
    text = resources.files(_DATA).joinpath("relatives.txt").read_text(encoding="utf-8")
    return dict(line.split("\t", 1) for line in text.splitlines())


@lru_cache(maxsize=8192)
def _kin(word: str) -> frozenset[str]:
    return frozenset(relatives().get(word, "").split())


@cache
def groups() -> dict[str, str]:
    """Returns stem → the group of exclusive values that it belongs to."""
    return {stem(word): name for name, members in _GROUPS.items() for word in members.split()}


def opposite(one: str, other: str) -> bool:
    """Whether two stems are opposites, comparatives and superlatives of opposites included."""
    table = antonyms()
    if other in table.get(one, ()):
        return True
    ones, others = _graded(one), _graded(other)
    return bool(ones or others) and any(second in table.get(first, ()) for first in ones | {one} for second in others | {other})


def _graded(word: str) -> set[str]:
    """Returns the stems that a comparative or superlative may come from, none for other words."""
    ending = next((e for e in ("er", "est") if word.endswith(e) and len(word) > len(e) + 2), None)
    if ending is None:
        return set()
    base = word[: -len(ending)]
    forms = {base, stem(base + "e"), base[:-1] if base[-1:] == base[-2:-1] else base}
    return forms | ({base[:-1] + "y"} if base.endswith("i") else set())


def loosely_opposite(one: str, other: str) -> bool:
    """Whether a stem is an opposite of a relative of the other: stupid and clever, by way of smart."""
    table = antonyms()
    return (
        opposite(one, other)
        or any(other in table.get(word, ()) for word in _kin(one))
        or any(one in table.get(word, ()) for word in _kin(other))
    )


def related(one: str, other: str) -> bool:
    """Whether two stems may mean the same: synonyms, or one names a kind of the other."""
    if one == other or other in _kin(one) or one in _kin(other):
        return True
    return any(b in _kin(a) or a in _kin(b) for a in _graded(one) for b in _graded(other))


def exclusive(one: str, other: str) -> bool:
    """Whether two different stems are values of one kind that exclude each other, such as blue and green."""
    table = groups()
    return (
        one != other and one in table and table[one] == table.get(other) and not {one, other} <= {"gray", "grey"}
    )


def common(one: str) -> bool:
    """Whether a stem is an ordinary English word rather than a name."""
    return one in relatives() or one in antonyms()
