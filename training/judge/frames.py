"""Sentence frames of generated pairs.

A frame states one attribute of one subject. ``wordings`` say the same, ``denials`` say that it does not hold, and
``others`` are statements about the same subject and value that neither follow from the frame nor deny it. Slots:
``{s}`` subject, ``{v}`` value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """One attribute in several wordings.

    Attributes:
        subject: kind of subject, a key of ``generate.SUBJECTS``.
        value: kind of value, a key of ``generate.VALUES``.
        wordings: templates that mean the same.
        denials: templates that contradict every wording with the same value.
        others: templates compatible with every wording, saying something else.
        exclusive: whether two different values cannot both hold.
        details: endings that make a wording more precise.
    """

    subject: str
    value: str
    wordings: tuple[str, ...]
    denials: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    exclusive: bool = True
    details: tuple[str, ...] = ()


def _frame(
    subject: str, value: str, wordings: str, denials: str = "", others: str = "", details: str = "", *, exclusive: bool = True
) -> Frame:
    def split(text: str) -> tuple[str, ...]:
        return tuple(part.strip() for part in text.split("|") if part.strip())

    return Frame(subject, value, split(wordings), split(denials), split(others), exclusive, split(details))


FRAMES: tuple[Frame, ...] = (
    _frame("person", "city", "{s} is based in {v}|{s} has a home in {v}|{s}'s home is in {v}|{s} makes a home in {v}|{v} is the city that {s} calls home|{s} dwells in {v}|Home for {s} is {v}",
           "{s} is not based in {v}|{s} moved away from {v}|{s} no longer calls {v} home", "{s} has an office in {v}|{s} studied in {v}|{s} visited {v} once|{s} was born in {v}",
           "with two cats|near the river|in a small flat|since 2019"),
    _frame("person", "city", "{s} was born in {v}|{s}'s birthplace is {v}|{v} is where {s} was born|{s} is a native of {v}|{v} is {s}'s birthplace", "{s} was not born in {v}", "{s} got married in {v}|{s} died in {v}|{s} teaches in {v}"),
    _frame("person", "country", "{s} grew up in {v}|{s} spent childhood in {v}|{s} was raised in {v}|{v} is where {s} grew up", "{s} did not grow up in {v}|{s} never set foot in {v}", "{s} runs a business in {v}|{s} would like to see {v}"),
    _frame("person", "nationality", "{s} is {v}|{s} is a {v} citizen|{s} has {v} nationality|{s} holds {v} citizenship|{s}'s nationality is {v}", "{s} is not {v}|{s} gave up {v} citizenship", "{s} loves {v} food|{s} has a {v} friend"),
    _frame("person", "company", "{s} is on the staff of {v}|{s} has a job at {v}|{s} is an employee of {v}|{v} employs {s}|{s} is on {v}'s payroll|{s}'s employer is {v}|{s} is working for {v}",
           "{s} left {v}|{s} does not have a job at {v}|{s} quit {v}|{s} was fired by {v}|{v} does not employ {s}|{s} is no longer with {v}", "{s} buys from {v}|{s} owns shares of {v}|{s} sued {v}|{s} applied to {v}",
           "as an engineer|in the sales department|for ten years|on a part-time contract"),
    _frame("company", "person", "{v} founded {s}|{s} was founded by {v}|The founder of {s} is {v}|{s}'s founder is {v}|{v} started {s}", "{v} did not found {s}", "{v} left {s}|{v} works for {s}|{v} wrote a book about {s}"),
    _frame("person", "job", "{s} is a {v}|{s} works as a {v}|{s}'s job is {v}|{s} earns a living as a {v}|{s} is a {v} by profession|{s}'s occupation is {v}", "{s} is not a {v}|{s} stopped working as a {v}|{s} has never worked as a {v}", "{s} met a {v}|{s} lives next to a {v}|{s} is looking for a {v}",
           "at a small firm|with years of experience|in a hospital|in the north"),
    _frame("person", "language", "{s} speaks {v}|{s} is a {v} speaker|{s} can speak {v}|{s} is able to speak {v}", "{s} does not speak {v}|{s} can't speak {v}|{s} doesn't know any {v}|{s} is unable to speak {v}", "{s} is learning {v}|{s} teaches {v} literature", "fluently|with an accent|at home", exclusive=False),
    _frame("person", "language", "{s}'s mother tongue is {v}|{s} is a native speaker of {v}|{v} is {s}'s first language|{s}'s native language is {v}", "{s} is not a native speaker of {v}", "{s} translates books from {v}"),
    _frame("person", "allergen", "{s} cannot tolerate {v}|{s} is intolerant to {v}|{s} has an intolerance to {v}|{s} reacts badly to {v}|{v} makes {s} ill", "{s} tolerates {v} well|{s} is not intolerant to {v}|{s} has no intolerance to {v}|{s} has no problem with {v}", "{s} bought {v} yesterday|{s} sells {v}"),
    _frame("person", "food", "{s} enjoys {v}|{s} loves {v}|{s} adores {v}|{s} is keen on {v}|{s} really likes eating {v}", "{s} dislikes {v}|{s} can't stand {v}|{s} detests {v}|{s} does not enjoy {v}|{s} isn't keen on {v}|{s} never eats {v}", "{s} sells {v}|{s} grows {v}|{s} cooked {v} last night", "for breakfast|with salt|more than anything else", exclusive=False),
    _frame("person", "hobby", "{s}'s hobby is {v}|{s} does {v} as a hobby|{v} is {s}'s hobby|{s} is into {v}|{s} spends free time on {v}", "{s} gave up {v}|{s} is not into {v}|{s} has no interest in {v}|{s} finds {v} boring", "{s} read an article about {v}|{s} watched a film about {v}", "at weekends|with friends|every summer", exclusive=False),
    _frame("person", "instrument", "{s} plays the {v}|{s} is a {v} player|{s} can play the {v}|{s}'s instrument is the {v}", "{s} does not play the {v}|{s} cannot play the {v}|{s} never learned the {v}", "{s} sold a {v}|{s} repairs a {v}", "in an orchestra|every evening|very well"),
    _frame("person", "colour", "{s} prefers the colour {v}|The colour {s} prefers is {v}|{v} is {s}'s preferred colour|{s} likes {v} more than any other colour", "{s} hates the colour {v}|{s} does not prefer the colour {v}", "{s} wore {v} on Sunday|{s} has a {v} hat"),
    _frame("person", "colour", "{s} drives a {v} car|{s}'s car is {v}|The car that {s} drives is {v}|{s} has a {v} car", "{s}'s car is not {v}", "{s} wears a {v} coat|{s} painted the door {v}"),
    _frame("person", "pet", "{s} has a {v}|{s} owns a {v}|{s} keeps a {v} as a pet|{s}'s pet is a {v}", "{s} has no {v}|{s} does not own a {v}|{s} has never had a {v}|{s} doesn't have any {v}", "{s} is afraid of a {v}|{s} saw a {v}", "named Max|with long hair|from a shelter"),
    _frame("person", "small_number", "{s} has {v} children|{s} is a parent of {v}|{s} has {v} kids|{s}'s family includes {v} children|There are {v} children in {s}'s family", "{s} does not have {v} children|{s} has no children", "{s} teaches {v} children|{s} met {v} people"),
    _frame("person", "age", "{s} is {v} years old|{s}'s age is {v}|{s} is aged {v}|{s} has turned {v}|{s} is {v}", "{s} is not {v} years old", "{s} lives at number {v}|{s} retired after {v} years"),
    _frame("person", "countable_number", "{s} possesses {v}|{s} is the owner of {v}|{v} belong to {s}|The number of things {s} owns: {v}", "{s} does not possess {v}", "{s} sold {v}|{s} repaired {v}|{s} wants {v}"),
    _frame("person", "weight", "{s} weighs {v}|{s}'s weight is {v}|{s} has a weight of {v}", "{s} does not weigh {v}", "{s} can lift {v}|{s} lost {v}"),
    _frame("person", "money_month", "{s} earns {v} a month|{s}'s monthly salary is {v}|{s} makes {v} per month|{s} is paid {v} each month", "{s} does not earn {v} a month", "{s} spends {v} a month|{s} saves {v} each month"),
    _frame("person", "university", "{s} studied at {v}|{s} went to {v}|{s} attended {v}|{s} is a graduate of {v}|{s} graduated from {v}", "{s} never attended {v}|{s} was rejected by {v}", "{s} gave a talk at {v}|{s} lives near {v}", "on a scholarship|in the nineties|for two years"),
    _frame("person", "field", "{s} studies {v}|{s} is a student of {v}|{s} is majoring in {v}|{s}'s major is {v}|{v} is what {s} studies", "{s} does not study {v}|{s} dropped out of {v}", "{s} borrowed a book on {v}|{s}'s brother likes {v}"),
    _frame("person", "topic", "{s} does research on {v}|{s} researches {v}|{s}'s research is about {v}|{s}'s research topic is {v}", "{s} does not do research on {v}|{s} abandoned research on {v}", "{s} saw a film about {v}", "at a private lab|with a small grant"),
    _frame("person", "vehicle", "{s} commutes by {v}|{s} gets to work by {v}|{s} takes the {v} to work|{s} goes to the office by {v}", "{s} never takes the {v} to work|{s} does not commute by {v}", "{s} crashed a {v}|{s} missed the {v}"),
    _frame("person", "weekday", "{s} works from home on {v}s|On {v}s {s} works from home|{v} is {s}'s home office day", "{s} never works from home on {v}s", "{s} plays tennis on {v}s"),
    _frame("person", "person", "{s} is married to {v}|{v} is {s}'s spouse|{s}'s spouse is {v}|{v} is married to {s}|{s} and {v} are married", "{s} is not married to {v}|{s} and {v} are divorced|{s} divorced {v}", "{s} works with {v}|{s} lives near {v}"),
    _frame("person", "person", "{s} reports to {v}|{v} is {s}'s boss|{s}'s boss is {v}|{v} is {s}'s supervisor|{s} is supervised by {v}", "{s} does not report to {v}|{s} no longer reports to {v}", "{s} had lunch with {v}|{s} is taller than {v}"),
    _frame("person", "person", "{s} is the mother of {v}|{v}'s mother is {s}|{v} is a child of {s}|{s} gave birth to {v}", "{s} is not the mother of {v}", "{s} photographed {v}"),
    _frame("person", "marital", "{s} is {v}|{s} is now {v}|{s} is {v} at present|At the moment {s} is {v}", "{s} is not {v}", "{s} wrote about being {v}"),
    _frame("person", "diet", "{s} is {v}|{s} follows a {v} diet|{s} eats {v}", "{s} is not {v}|{s} gave up being {v}", "{s} opened a {v} restaurant|{s} wrote a {v} cookbook"),
    _frame("person", "hand", "{s} is {v}|{s} has always been {v}", "{s} is not {v}"),
    _frame("title", "person", "{v} is {s}|{s} is {v}|{v} serves as {s}|{v} holds the post of {s}|{v} is currently {s}|The post of {s} is held by {v}", "{v} is not {s}|{v} resigned as {s}|{v} is no longer {s}|{v} never was {s}", "{v} criticised {s}|{v} met {s}"),
    _frame("company", "city", "{s} is headquartered in {v}|{s} has its headquarters in {v}|The headquarters of {s} are in {v}|{s}'s head office is in {v}|{v} is home to the headquarters of {s}", "{s} is not headquartered in {v}|{s} moved its headquarters out of {v}", "{s} has a factory in {v}|{s} sells in {v}|{s} opened a shop in {v}"),
    _frame("company", "year", "{s} was founded in {v}|{s} was established in {v}|The founding year of {s} is {v}|{s} was set up in {v}|{s} dates from {v}", "{s} was not founded in {v}", "{s} went public in {v}|{s} moved in {v}"),
    _frame("company", "headcount", "{s} has a workforce of {v}|{s} has {v} employees|{v} people work at {s}|{s} has {v} people on staff|{s}'s headcount is {v}", "{s} does not have {v} employees", "{s} laid off {v} employees|{s} wants to hire {v} people"),
    _frame("company", "percent", "{s} raised prices by {v}|{s} increased its prices by {v}|Prices at {s} went up {v}|{s}'s prices rose by {v}", "{s} cut prices by {v}|{s} lowered its prices by {v}|Prices at {s} went down {v}|{s} did not raise prices by {v}", "{s} raised wages by {v}"),
    _frame("company", "percent", "{s}'s profit fell by {v} this year|This year {s}'s profit was down {v}|{s} saw profit drop {v} this year", "{s}'s profit rose by {v} this year|{s}'s profit did not fall by {v} this year", "{s}'s debt fell by {v} this year"),
    _frame("company", "percent", "{s} has a market share of {v}|{s} holds {v} of the market|{s}'s market share is {v}", "{s} does not hold {v} of the market", "{s} lost {v} of its customers"),
    _frame("company", "bigmoney", "{s} is valued at {v}|{s}'s valuation is {v}|{s} has a valuation of {v}|The valuation of {s} stands at {v}", "{s} is not valued at {v}", "{s} lost {v}|{s} borrowed {v}"),
    _frame("company", "bigmoney", "{s} paid {v} for the land|The land cost {s} {v}|{s} bought the land for {v}", "{s} did not pay {v} for the land", "{s} paid {v} in tax|{s} sold the house for {v}"),
    _frame("company", "company", "{s} acquired {v}|{v} was acquired by {s}|{s} bought {v}|{s} took over {v}", "{s} did not acquire {v}|{s} failed to acquire {v}|{s} never bought {v}", "{s} competes with {v}|{s} supplies {v}"),
    _frame("company", "company", "{s} supplies {v}|{v} is supplied by {s}|{s} is a supplier of {v}|{v} buys from {s}", "{s} does not supply {v}|{s} stopped supplying {v}", "{s} sued {v}"),
    _frame("company", "openness", "{s} is {v} this week|This week {s} is {v}", "{s} is not {v} this week"),
    _frame("service", "port", "{s} is reachable on port {v}|{s} uses port {v}|{s} is exposed on port {v}|Port {v} belongs to {s}|{s} binds to port {v}", "{s} is not reachable on port {v}|{s} no longer uses port {v}", "{s} opened ticket {v}|{s} blocks port {v}"),
    _frame("service", "duration", "{s} caches results for {v}|Results of {s} are cached for {v}|{s} keeps cached results for {v}|The cache lifetime of {s} is {v}", "{s} does not cache results for {v}", "{s} was down for {v}|{s} sleeps for {v}"),
    _frame("service", "duration", "{s} restarts every {v}|{s} is restarted every {v}|A restart of {s} occurs every {v}", "{s} does not restart every {v}|{s} never restarts", "{s} polls every {v}"),
    _frame("service", "number", "{s} retries {v} times|{s} makes {v} retries|{s} will retry up to {v} times|The retry limit of {s} is {v}", "{s} does not retry {v} times|{s} never retries", "{s} crashed {v} times"),
    _frame("service", "number", "{s} handles {v} requests per second|{s} serves {v} requests per second|The throughput of {s} is {v} requests per second|{s} processes {v} requests each second", "{s} cannot handle {v} requests per second", "{s} rejects {v} requests per second"),
    _frame("service", "number", "{s} runs {v} replicas|{s} has {v} replicas|There are {v} replicas of {s}|{s} is deployed with {v} replicas", "{s} does not run {v} replicas", "{s} lost {v} replicas"),
    _frame("service", "memory", "{s} has {v} of memory|{s} is given {v} of RAM|The memory of {s} is {v}|{s} comes with {v} of RAM", "{s} does not have {v} of memory", "{s} leaks {v} of memory|{s} uploaded {v}"),
    _frame("service", "tech_version", "{s} depends on {v}|{s} requires {v}|{s} is built against {v}|{v} is required by {s}", "{s} does not depend on {v}|{s} dropped {v}", "{s} was tested against {v}"),
    _frame("service", "version", "{s} is at version {v}|The version of {s} is {v}|{s} is on release {v}|{s} v{v} is deployed", "{s} is not at version {v}", "{s} will skip version {v}|The bug in {s} was found in version {v}"),
    _frame("service", "programming", "{s} was coded in {v}|{s} is a {v} program|The code of {s} is {v}|{v} is the language behind {s}|{s} was developed in {v}", "{s} was not coded in {v}|{s} contains no {v}", "{s} parses {v}|{s} was ported from {v}"),
    _frame("service", "tool", "{s} stores its files with {v}|{s} relies on {v}|{s} is powered by {v}|{s} makes use of {v}", "{s} does not rely on {v}|{s} stopped using {v}|{s} works without {v}", "{s} competes with {v}|{s} can import from {v}"),
    _frame("service", "onoff", "{s} is {v}|{s} is currently {v}|{s} is {v} now|At present {s} is {v}", "{s} is not {v}"),
    _frame("service", "team", "{s} is owned by {v}|{v} owns {s}|{v} is responsible for {s}|The owner of {s} is {v}|{s} belongs to {v}", "{s} is not owned by {v}|{v} is no longer responsible for {s}", "{v} complained about {s}|{v} is a user of {s}"),
    _frame("service", "clock", "{s} is redeployed at {v}|The redeployment of {s} is at {v}|{s} gets redeployed at {v}|At {v} {s} is redeployed", "{s} is not redeployed at {v}", "{s} failed at {v}|{s} was paused at {v}"),
    _frame("service", "percent", "{s} has an error rate of {v}|The error rate of {s} is {v}|{v} of requests to {s} fail", "{s} does not have an error rate of {v}", "{s} has a cache hit rate of {v}"),
    _frame("service", "frequency", "{s} is backed up {v}|{s} gets a {v} backup|Backups of {s} are taken {v}|{s} has {v} backups", "{s} is not backed up {v}|{s} is never backed up", "{s} is reviewed {v}"),
    _frame("service", "service", "{s} calls {v}|{v} is called by {s}|{s} sends requests to {v}|{v} receives requests from {s}", "{s} does not call {v}|{s} never calls {v}", "{s} replaced {v}|{s} is older than {v}"),
    _frame("service", "encryption", "{s} {v} data at rest|Data at rest is handled so that {s} {v} it", ""),
    _frame("team", "weekday", "{s} meets on {v}|{s} has its meeting on {v}|{v} is when {s} meets|The meeting of {s} is on {v}|{s} gathers every {v}", "{s} does not meet on {v}|{s} never meets on {v}", "{s} ships on {v}|{s} got cake on {v}"),
    _frame("team", "number", "{s} consists of {v} people|{v} people are in {s}|{s} is {v} people strong|{s} has a size of {v}|{s} is made up of {v} people", "{s} does not consist of {v} people", "{s} invited {v} people|{s} hired {v} people"),
    _frame("team", "tool", "{s} works with {v}|{s} uses {v}|{v} is used by {s}|{v} is the tool of {s}|{s} is a {v} shop", "{s} does not use {v}|{s} stopped using {v}|{s} no longer uses {v}|{s} abandoned {v}", "{s} evaluated {v}|{s} wrote a guide about {v}", "for everything|for most tasks|on all machines"),
    _frame("team", "person", "{v} leads {s}|{s} is led by {v}|The lead of {s} is {v}|{v} is the head of {s}|{v} heads {s}", "{v} does not lead {s}|{v} stepped down from leading {s}|{v} no longer leads {s}", "{v} praised {s}|{v} trained {s}"),
    _frame("team", "money", "{s} spent {v}|{s} has spent {v}|Spending of {s} was {v}|{s}'s spending came to {v}", "{s} did not spend {v}|{s} spent nothing", "{s} earned {v}|{s} asked for {v}"),
    _frame("team", "fraction", "{s} finished {v} of the tasks|{v} of the tasks were finished by {s}|{s} completed {v} of the tasks", "{s} did not finish {v} of the tasks", "{s} wrote {v} of the tests"),
    _frame("event", "date", "{s} is on {v}|{s} is set for {v}|{s} falls on {v}|{s} is planned for {v}|The date of {s} is {v}|{v} is the date of {s}", "{s} is not on {v}|{s} on {v} was cancelled|{s} is no longer on {v}", "{s} was announced on {v}|Registration for {s} ends on {v}"),
    _frame("event", "weekday", "{s} is held on {v}|{s} happens on {v}|{v} is the day of {s}|{s} is due {v}", "{s} is not held on {v}|{s} won't happen on {v}", "Tickets for {s} go on sale on {v}"),
    _frame("event", "clock", "{s} kicks off at {v}|{s} gets going at {v}|{s} commences at {v}|The beginning of {s} is at {v}|{v} is when {s} opens", "{s} does not kick off at {v}", "{s} ends at {v}|{s} has a break at {v}"),
    _frame("event", "duration", "{s} lasts {v}|{s} takes {v}|The duration of {s} is {v}|{s} goes on for {v}|{s} is {v} long", "{s} does not last {v}", "{s} was delayed by {v}|{s} begins in {v}"),
    _frame("event", "city", "{s} takes place in {v}|{s} will be held in {v}|{v} hosts {s}|The location of {s} is {v}|{s} is happening in {v}", "{s} does not take place in {v}|{s} was moved away from {v}", "{s} was advertised in {v}"),
    _frame("event", "month", "{s} is in {v}|{s} takes place in {v}|{v} is the month of {s}|{s} happens in {v}", "{s} is not in {v}", "{s} was booked in {v}"),
    _frame("event", "person", "{v} organises {s}|{s} is organised by {v}|The organiser of {s} is {v}|{v} is in charge of {s}", "{v} does not organise {s}|{v} refused to organise {s}", "{v} missed {s}|{v} enjoyed {s}"),
    _frame("event", "number", "{v} people signed up for {s}|{s} has {v} participants|{s} has {v} people signed up|The number of participants of {s} is {v}", "{s} does not have {v} participants", "{v} people complained about {s}|{v} people left {s} early"),
    _frame("event", "cancelled", "{s} is {v}|{s} has been {v}|{s} was {v}", "{s} is not {v}|{s} has not been {v}"),
    _frame("thing", "length", "{s} measures {v}|{s} is {v} in length|The length of {s} is {v}|{s} stretches {v}", "{s} does not measure {v}", "{s} is {v} from the road|{s} was moved by {v}"),
    _frame("thing", "length", "{s} is {v} tall|{s} is {v} high|The height of {s} is {v}|{s} has a height of {v}|{s} rises {v}", "{s} is not {v} tall", "{s} is {v} wide|{s} is {v} away"),
    _frame("thing", "material", "{s} is made of {v}|{s} consists of {v}|{v} is the material of {s}|{s} was built from {v}", "{s} is not made of {v}|{s} contains no {v}", "{s} stands next to a shop for {v}"),
    _frame("thing", "colour", "{s} is {v}|{s} was painted {v}|The colour of {s} is {v}|{v} is the colour of {s}", "{s} is not {v}", "{s} has a {v} light"),
    _frame("thing", "year", "{s} was built in {v}|{s} was completed in {v}|Construction of {s} finished in {v}|{v} is the year {s} was built", "{s} was not built in {v}", "{s} was renovated in {v}|{s} was sold in {v}"),
    _frame("thing", "weight", "{s} holds {v}|{s} can carry {v}|The load of {s} is {v}|{s} carries up to {v}", "{s} cannot hold {v}", "{s} lost {v}"),
    _frame("thing", "bigmoney", "{s} cost {v}|The cost of {s} was {v}|{s} was built for {v}|Building {s} cost {v}", "{s} did not cost {v}", "{s} was insured for {v}"),
    _frame("thing", "direction", "{s} lies {v} of the town|{s} is {v} of the town|{v} of the town lies {s}|{s} is situated {v} of the town", "{s} is not {v} of the town", "{s} was extended to the {v}"),
    _frame("thing", "size_adj", "{s} is {v}|{s} is really {v}|{s} is said to be {v}", "{s} is not {v}"),
    _frame("place", "clock", "{s} closes at {v}|{s} shuts at {v}|Closing time at {s} is {v}|{v} is when {s} closes", "{s} does not close at {v}", "{s} had an alarm at {v}|{s} serves lunch at {v}"),
    _frame("place", "weekday", "{s} is shut on {v}s|{s} is closed on {v}s|{v} is the day {s} stays closed|On {v}s {s} is closed", "{s} is open on {v}s|{s} is not closed on {v}s", "{s} gets deliveries on {v}s"),
    _frame("place", "money", "Entry to {s} costs {v}|{s} charges {v} for entry|The entrance fee of {s} is {v}|You pay {v} to enter {s}", "Entry to {s} is free|Entry to {s} does not cost {v}", "{s} donated {v}|Parking at {s} costs {v}"),
    _frame("place", "floor", "{s} is on the {v} floor|You find {s} on the {v} floor|The {v} floor houses {s}", "{s} is not on the {v} floor", "{s} has a storage room on the {v} floor"),
    _frame("place", "openness", "{s} is {v} today|Today {s} is {v}", "{s} is not {v} today"),
    _frame("place", "distance", "{s} is {v} from the station|The distance from the station to {s} is {v}|{s} lies {v} from the station", "{s} is not {v} from the station", "{s} is {v} from the airport"),
    _frame("place", "allowed", "Dogs are {v} in {s}|In {s} dogs are {v}", "Dogs are not {v} in {s}"),
    _frame("place", "quantity", "{v} rooms of {s} are heated|In {s} {v} rooms are heated|Heating is on in {v} rooms of {s}", ""),
    _frame("country", "city", "The capital of {s} is {v}|{v} is the capital of {s}|{s}'s capital is {v}|{s} has {v} as its capital", "{v} is not the capital of {s}", "{v} trades with {s}|{v} lies far from {s}"),
    _frame("country", "language", "The official language of {s} is {v}|{v} is the official language of {s}|{s}'s official language is {v}", "{v} is not the official language of {s}", "Some people in {s} speak {v}"),
    _frame("country", "bignumber", "{s} has a population of {v}|The population of {s} is {v}|{v} people live in {s}|{s} is home to {v} people", "{s} does not have a population of {v}", "{s} exported {v} cars"),
    _frame("obligation", "verb_phrase", "{s} must {v}|{s} have to {v}|{s} are required to {v}|{s} are obliged to {v}", "{s} must not {v}|{s} do not have to {v}|{s} are not required to {v}|{s} may not {v}|{s} are forbidden to {v}", "{s} usually {v}|{s} forgot to {v}", "before noon|in person|every day"),
    _frame("obligation", "verb_phrase", "{s} may {v}|{s} are allowed to {v}|{s} are permitted to {v}|{s} can {v}", "{s} may not {v}|{s} are not allowed to {v}|{s} are forbidden to {v}|{s} cannot {v}", "{s} must {v}|{s} refused to {v}", "after lunch|on request"),
    _frame("obligation", "verb_phrase", "{s} should {v}|{s} ought to {v}|It is recommended that {s} {v}", "{s} should not {v}|{s} ought not to {v}", "{s} might {v}"),
)
"""Frames with a subject of their own. None of them is a frame of the development set ``value_pairs.tsv``."""

OWNED: tuple[Frame, ...] = (
    _frame("none", "city", "Based out of {v}|Home base is {v}|Resident of {v}|Calls {v} home", "Left {v}|Moved out of {v}"),
    _frame("none", "tool", "Works in {v}|Main tool is {v}|Relies on {v} daily|{v} user", "Stopped using {v}|Dropped {v}|Gave up on {v}|Uninstalled {v}", "Considering {v}|Read about {v}"),
    _frame("none", "job", "Works as a {v}|Job: {v}|Employed as a {v}|{v} by profession", "Quit as {v}|Not a {v} any more", "Interviewed a {v}"),
    _frame("none", "number", "Headcount of {v}|Staff of {v}|{v} people on staff|{v} employees in total", "", "Interviewed {v} people"),
    _frame("none", "small_number", "Has {v} kids|{v} kids|Parent of {v}|Father of {v}"),
    _frame("none", "date", "Exam on {v}|The exam is on {v}|Exam date: {v}|Sitting the exam on {v}"),
    _frame("none", "date", "Grant application due {v}|{v} is the due date of the grant application|Grant application deadline: {v}"),
    _frame("none", "topic", "Working on {v}|Doing research in {v}|Research topic: {v}|Focus is {v}", "Stopped working on {v}|Finished the work on {v}"),
    _frame("none", "programming", "Writes mostly {v}|Main language is {v}|Codes in {v}|Primary language: {v}", "Gave up {v}|Does not write {v}"),
    _frame("none", "diet", "Eats {v}|Is {v}|Keeps a {v} diet|On a {v} diet", "Not {v} any more|Stopped being {v}"),
    _frame("none", "bigmoney", "Raised {v}|Funding of {v}|Got {v} in funding", "", "Spent {v}"),
    _frame("none", "version", "On version {v}|Running version {v}|Deployed version: {v}", "", "Read the notes of version {v}"),
    _frame("none", "company", "Employee of {v}|Has a job with {v}|Employed at {v}|Employer: {v}", "Left {v}|Quit {v}|Laid off from {v}", "Customer of {v}"),
    _frame("none", "hobby", "Into {v}|Hobby: {v}|Spends weekends on {v}", "Gave up {v}|No longer into {v}", exclusive=False),
    _frame("none", "percent", "Accuracy of {v}|Accuracy is {v}|Reaches {v} accuracy", "", "Baseline is {v}"),
    _frame("none", "field", "Studying {v}|Student of {v}|Majoring in {v}|Major: {v}", "Dropped out of {v}", "Sister studies {v}"),
)
"""Statements of an owner who is not named."""

CHANGES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("city", ("Based out of {v}", "Has a flat in {v}", "{s} is based in {v}", "Resident of {v}"),
     ("Moved to {w}", "Relocated from {v} to {w}", "Now based in {w}", "{s} has moved to {w}", "Took a position in {w}", "Left {v} for {w}")),
    ("tool", ("Works in {v}", "{s} uses {v}", "Relies on {v}", "Using {v} for everything", "Main tool is {v}", "Happy with {v}"),
     ("Switched from {v} to {w}", "Replaced {v} with {w}", "Moved from {v} to {w}", "Dropped {v} in favour of {w}", "Uses {w} instead of {v}", "{s} switched to {w}", "Abandoned {v}, now on {w}", "Now using {w}, not {v}", "Migrated to {w}", "No longer using {v}")),
    ("number", ("Team of {v}", "Group of {v} people", "{v} people on the team", "Staff of {v}"),
     ("Grew to {w} people", "Team is now {w} people", "Expanded to {w}", "Shrank to {w} people", "Headcount is {w} now")),
    ("date", ("Exam on {v}", "Paper due {v}", "Trip planned for {v}", "The review is on {v}", "Launch on {v}"),
     ("Moved to {w}", "Postponed to {w}", "Rescheduled to {w}", "Pushed back to {w}", "Brought forward to {w}", "New date is {w}")),
    ("job", ("Works as a {v}", "{s} is a {v}", "Junior {v} at a bank", "Employed as a {v}"),
     ("Became a {w}", "Retrained as a {w}", "Now working as a {w}", "Promoted to chief {w}", "{s} is now a {w}", "Left the job as {v}")),
    ("topic", ("Research on {v}", "Working on {v}", "Thesis about {v}", "{s} does research on {v}"),
     ("Pivoted to {w}", "Changed topic to {w}", "Thesis is now about {w}", "Gave up {v} for {w}", "Done with {v}", "{s} switched from {v} to {w}")),
    ("company", ("Employed at {v}", "{s} is working for {v}", "Employee of {v}", "Consultant at {v}"),
     ("Joined {w}", "Left {v} for {w}", "Started at {w}", "Quit {v}", "{s} joined {w}", "Now with {w}")),
    ("version", ("Running version {v}", "On release {v}", "Deployed version is {v}"),
     ("Upgraded to {w}", "Upgraded from {v} to {w}", "Rolled back to {w}", "Now on {w}")),
    ("percent", ("Accuracy of {v}", "Reaches {v} accuracy", "Conversion rate of {v}"),
     ("Now at {w} (was {v})", "Improved from {v} to {w}", "Accuracy went from {v} to {w}", "Dropped to {w}")),
    ("diet", ("Keeps a {v} diet", "{s} is {v}"), ("Now {w}", "Switched to a {w} diet", "No longer {v}", "{s} became {w}")),
    ("hobby", ("Into {v}", "Goes {v} every week", "{v} twice a week"), ("Gave up {v}", "Swapped {v} for {w}", "Quit {v} because of an injury", "No longer does {v}")),
    ("language", ("Learning {v}", "{s} is learning {v}", "Takes {v} classes"), ("Dropped {v}, now learning {w}", "Switched from {v} to {w}", "Finished learning {v}", "Stopped {v} classes")),
)
"""Value kind, what held before, and what says that it changed ({v} old, {w} new)."""

ROLES: tuple[tuple[str, tuple[str, ...], bool], ...] = (
    ("person", ("{a} manages {b}", "{b} is managed by {a}", "{b}'s line manager is {a}"), False),
    ("person", ("{a} is older than {b}", "{b} is younger than {a}"), False),
    ("person", ("{a} lent money to {b}", "{b} borrowed money from {a}", "{b} owes {a} money"), False),
    ("person", ("{a} taught {b}", "{b} was taught by {a}", "{b} was a pupil of {a}"), False),
    ("person", ("{a} defeated {b}", "{b} lost to {a}", "{b} was beaten by {a}", "{a} beat {b}"), False),
    ("person", ("{a} is {b}'s father", "{b}'s father is {a}", "{b} is a child of {a}"), False),
    ("person", ("{a} hired {b}", "{b} was hired by {a}"), False),
    ("person", ("{a} called {b}", "{b} was called by {a}", "{b} got a call from {a}"), False),
    ("person", ("{a} is a cousin of {b}", "{b} is a cousin of {a}", "{a} and {b} are cousins"), True),
    ("person", ("{a} shares an office with {b}", "{b} shares an office with {a}", "{a} and {b} share an office"), True),
    ("person", ("{a} is a friend of {b}", "{b} is a friend of {a}", "{a} and {b} are friends"), True),
    ("company", ("{a} owns {b}", "{b} is owned by {a}", "{b} belongs to {a}"), False),
    ("company", ("{a} sued {b}", "{b} was sued by {a}"), False),
    ("company", ("{a} invested in {b}", "{b} received an investment from {a}"), False),
    ("company", ("{a} is a partner of {b}", "{b} is a partner of {a}", "{a} and {b} are partners"), True),
    ("service", ("{a} depends on {b}", "{b} is a dependency of {a}", "{b} is needed by {a}"), False),
    ("service", ("{a} replaced {b}", "{b} was replaced by {a}"), False),
    ("service", ("{a} is faster than {b}", "{b} is slower than {a}"), False),
    ("service", ("{a} starts before {b}", "{b} starts after {a}"), False),
    ("city", ("The train runs from {a} to {b}", "The train goes from {a} to {b}", "There is a train from {a} to {b}"), False),
    ("city", ("{a} is north of {b}", "{b} is south of {a}"), False),
    ("city", ("{a} is bigger than {b}", "{b} is smaller than {a}"), False),
    ("city", ("{a} is close to {b}", "{b} is close to {a}", "{a} and {b} are close to each other"), True),
    ("team", ("{a} handed the project over to {b}", "{b} got the project from {a}"), False),
    ("team", ("{a} is larger than {b}", "{b} is smaller than {a}"), False),
)
"""Relations of two of a kind: subject kind, wordings, and whether swapping the two keeps the meaning."""
