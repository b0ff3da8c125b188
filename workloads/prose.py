"""Writers of running text: story, dialogue, recipe, agreement, briefing, many languages."""

from collections.abc import Iterator

from linattn_verify.workloads.draw import Draw

PROSE: dict[str, tuple[str, ...]] = {
    "sentence": (
        "{name} the {trade} {did} the {adjective} {thing} and walked to {place} {when}.",
        "{when}, {name} {did} a {material} {thing} that nobody at {place} had ever {did}.",
        "Because {weather}, the {trade} {did} only {d2} {plural} and felt {felt} about it.",
        "“That {thing} is not yours,” {name} {said}, looking past the {adjective} {plural}.",
        "There were {d3} steps from {place} to {place}, and {name} had {did} a {thing} on each.",
        "Nobody believed the {adjective} {trade}, yet {weather} exactly as {name} had {said}.",
        "The {colour} {thing} belonged to a {trade} who once {did} {d2} {plural} {when}.",
        "If {name} felt {felt}, the {adjective} {trade} from {place} was plainly {felt}.",
        "Under the {material} floor of {place} lay {d2} {plural}, a {thing}, and one {thing}.",
        "{name} and {name} quarrelled over a {thing} {when}; {weather}, so neither of them left.",
        "Years ago a {trade} had {did} {plural} here, {adjective} as {plural} and twice as dear.",
        "By {month} the {plural} were gone, and {name}, {felt}, {did} the last {thing} {when}.",
        "“{d2} {plural} for one {adjective} {thing}?” {name} {said}. “Ask at {place}.”",
        "The road to {place} was {adjective}, {weather}, and the {thing} grew heavier.",
        "A {adjective} smell of {material} and {plural} hung about {place} whenever {weather}.",
        "It was {name} who {did} first, {felt}, with a {thing} in one hand and {plural} beneath.",
    ),
    "question": (
        "Did the {trade} at {place} really ask for {d2} {plural}?",
        "Who {did} the {adjective} {thing} {when}?",
        "How many {colour} {plural} can we load if {weather}?",
        "Shall I tell {name} that the {thing} cost {d3} crowns?",
        "Why is the {material} {thing} still lying in {place}?",
        "Would a {trade} take {d1} {plural} for it, or is {name} only {felt}?",
        "Have you seen what {name} {did} near {place}?",
    ),
    "reply": (
        "No, {name} {did} it {when}, and the {plural} are {adjective} now.",
        "I counted {d3} of them, {colour} and {adjective}, before {weather}.",
        "Only the {trade} knows; I was at {place}, {felt}, with a {thing}.",
        "Perhaps. The {thing} is {material}, so {d2} crowns would be {adjective} trade.",
        "Ask {name}. Since {month} every {thing} goes through {place}.",
        "Not before we have {did} the other {d2} {plural}, whatever the {trade} {said}.",
        "Yes, although {weather} and the {adjective} {plural} were hard to find.",
    ),
    "step": (
        "Melt {d2} g of {ingredient} in a {material}-handled {vessel} and add the {ingredient}.",
        "Whisk the {ingredient} with {d3} ml of {ingredient} until {texture}, about {d1} minutes.",
        "Cover the {vessel}; at 1{d2} degrees, leave the {ingredient} until {texture}.",
        "Meanwhile, chop {d1} handfuls of {ingredient}; {ingredient} will do if {weather}.",
        "Fold in the {ingredient}, then the {adjective} {ingredient}, and keep it {texture}.",
        "Taste: when it is {texture}, stir {d2} g of {ingredient} through, {vessel} in hand.",
        "Strain the {ingredient} into the {vessel}, add the {ingredient}, and wait {d2} seconds.",
        "Scatter {ingredient} and {ingredient} on top; bake for {d2} minutes until {texture}.",
        "Set aside {d1} spoons of {ingredient} for the {vessel} and let the rest cool {when}.",
        "Rub the {vessel} with {ingredient}, dust it with {ingredient}, and tip in {d3} g of it.",
    ),
    "clause": (
        "From the {day} of {month} {party} shall {duty} and shall {duty}.",
        "Should {party} fail to {duty}, {party} may {duty} within {d2} days.",
        "Notwithstanding paragraph {d2}, {party} need not {duty} where {weather}.",
        "At {place}, {party} shall {duty}, save that {party} may {duty} once in {month}.",
        "Any dispute about {plural} or the {adjective} {thing} is heard by a {trade} at {place}.",
        "In this part “{thing}” includes a {material} {thing} and up to {d2} {adjective} {plural}.",
        "{party} warrants that no {trade} has {did} the {plural} and agrees to {duty}.",
        "On payment of {d3} crowns {party} is released from the duty to {duty}.",
    ),
    "rule": (
        "Quote prices for {plural} in crowns, never above {d3}, unless a {trade} of {place} asks.",
        "If a caller mentions {place}, first ask for the colour ({colour}, {colour} or {colour}).",
        "Treat every {material} {thing} as fragile; file it under {d4}-{d2} and tell the {trade}.",
        "When {weather}, close {place} to {plural} and send the {trade} a note {when}.",
        "Answer a {adjective} question about {plural} in at most {d2} words and cite rule {d1}.",
        "Never reveal who {did} the {thing}; say that the {trade} has been {felt} since {month}.",
        "Convert bundles of {plural} at {d2} to the crate, and note any {adjective} {thing} apart.",
        "For refunds up to {d3} crowns no {trade} is needed, but {plural} must come back {when}.",
    ),
}

LANGUAGES = (
    "Am Morgen brachte {name} {d2} Kisten über die Brücke und vergaß den Schlüssel im Boot.",
    "La boulangère avait gardé {d2} pains pour {name}, mais la pluie a retardé tout le marché.",
    "En la plaza quedaban {d3} sillas vacías cuando {name} empezó a contar la historia del faro.",
    "Il vecchio orologio suonò {d1} volte, e {name} capì che il traghetto era già partito.",
    "Na margem do rio, {name} vendeu {d2} peixes e trocou o resto por linha azul e sabão.",
    "De molenaar schreef {d3} namen in het boek, maar die van {name} stond er twee keer in.",
    "W sobotę {name} naprawił dach, a potem policzył {d2} gwoździ, których nikt nie potrzebował.",
    "Až přijde zima, {name} odveze {d2} pytlů mouky k mostu a zůstane tam do jara.",
    "Στο λιμάνι περίμεναν {d2} βάρκες, και η θάλασσα ήταν ήσυχη σαν καθρέφτης.",
    "Вечером в мастерской осталось {d2} ламп, и только одна из них горела до утра.",
    "Увечері діти знайшли {d1} старих монет під мостом і віддали їх учителеві.",
    "Akşam olunca {name} {d2} elma topladı ve köprünün altında yağmurun dinmesini bekledi.",
    "På kajen stod {d3} tunnor, men {name} hittade bara en enda som inte läckte.",
    "Sillalla oli {d2} lyhtyä, ja {name} sytytti niistä joka toisen ennen myrskyä.",
    "A piacon {name} {d3} koronáért vett egy órát, amely mindig hét percet késett.",
    "朝、{name}は橋の上で{d2}個の箱を数え、手紙を一通だけ持って帰った。",
    "昨天下午,{name}在码头卖了{d2}盏灯,又用剩下的钱买了一张旧地图。",
    "시장에는 사과가 {d2}개 남아 있었고, 아이들은 비가 그치기를 기다렸다.",
    "في الصباح عدّ الحارس {d2} صندوقًا ثم كتب رسالة قصيرة إلى أخته.",
    "בערב נשארו {d2} עששיות על הרציף, והרוח כיבתה את כולן חוץ מאחת.",
    "सुबह नाव में {d2} टोकरियाँ थीं, पर शाम तक केवल तीन ही बची थीं।",
    "ตอนเช้ามีเรือ {d2} ลำที่ท่าน้ำ แต่ตอนเย็นเหลือเพียงลำเดียว",
    "Asubuhi {name} alihesabu vikapu {d2} sokoni, kisha akaandika barua fupi kwa dada yake.",
    "Buổi sáng {name} đếm được {d2} chiếc đèn, nhưng đến tối chỉ còn lại một nửa.",
    "Dimineața, {name} a numărat {d2} de felinare și a dus pâinea la podul de piatră.",
    "Um kvöldið taldi {name} {d2} fiska, gaf nágrannanum helminginn og sofnaði við eldinn.",
    "Al matí {name} va trobar {d2} claus sota el pont i cap no obria la porta del far.",
    "Hommikul luges {name} sillal {d3} sammu ja unustas, miks ta üldse tulnud oli.",
    "Pagi itu {name} menjual {d2} keranjang jeruk, lalu pulang sebelum hujan turun.",
    "Ráno {name} spočítal {d2} zvonov, no ani jeden z nich nezvonil tak čisto ako predtým.",
    "Na mostu je {name} prodal {d2} svetilk in si kupil zemljevid, ki ni kazal nobene poti.",
    "Vakare {name} suskaičiavo {d2} valčių, bet ryte prie kranto liko tik viena.",
    "Sub la ponto {name} trovis {d2} malnovajn librojn kaj legis ĝis la lampo estingiĝis.",
)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def story(draw: Draw) -> Iterator[str]:
    """Sentences of a tale, with a paragraph's end now and then."""
    while True:
        yield _capital(draw.deal("sentence")) + (" " if draw.number(0, 4) else "\n\n")


def dialogue(draw: Draw) -> Iterator[str]:
    """Turns of two speakers, who change from scene to scene."""
    while True:
        asker, teller = draw.deal("name"), draw.deal("name")
        yield f"\n[{draw.deal('place')}; {draw.deal('weather')}]\n"
        for _ in range(draw.number(2, 4)):
            yield f"{asker}: {_capital(draw.deal('question'))}\n"
            yield f"{teller}: {_capital(draw.deal('reply'))}\n"


def recipe(draw: Draw) -> Iterator[str]:
    """Recipes of five to eight numbered steps."""
    while True:
        title = _capital(draw.fill("{texture} {ingredient} with {ingredient}, as in {place}"))
        yield f"\n## {title}\nServes {draw.number(2, 9)}.\n"
        for number in range(1, draw.number(5, 8) + 1):
            yield f"{number}. {_capital(draw.deal('step'))}\n"


def agreement(draw: Draw) -> Iterator[str]:
    """Numbered clauses of a contract."""
    article = 0
    while True:
        article += 1
        yield draw.fill(f"\nArticle {article}. Of {{plural}} and the {{adjective}} {{thing}}\n")
        for number in range(1, draw.number(3, 5) + 1):
            yield f"{article}.{number} {_capital(draw.deal('clause'))}\n"


def amendment(draw: Draw) -> Iterator[str]:
    """Dated changes to a contract."""
    number = 0
    while True:
        number += 1
        yield draw.fill(f"\nAmendment {number}, made at {{place}} on the {{day}} of {{month}}\n")
        for letter in "abcd"[: draw.number(2, 4)]:
            yield f"({letter}) {_capital(draw.deal('clause'))}\n"


def briefing(draw: Draw) -> Iterator[str]:
    """The rules that an assistant is given before it is asked anything."""
    yield draw.fill(
        "You are the clerk of the harbour office at {place}. You answer the {trade}, the {trade}"
        " and the {trade}; you know the prices of {plural}, {plural} and {plural}.\n"
    )
    rule = 0
    while True:
        rule += 1
        yield f"Rule {rule}. {_capital(draw.deal('rule'))}\n"


def languages(draw: Draw) -> Iterator[str]:
    """One sentence after another, each in another language."""
    for sentence in draw.shuffled(LANGUAGES):
        yield draw.fill(sentence) + " "
