"""The words that the embedded prompts are made of."""


def _split(words: str) -> tuple[str, ...]:
    return tuple(" ".join(words.split()).split(" | "))


WORDS: dict[str, tuple[str, ...]] = {
    "name": _split(
        """Ilvara | Tomsin | Bettrik | Oswine | Maralie | Quenby | Hesper | Joralt | Nadrin | Pellam
        | Sunniva | Corvane | Edrika | Fennick | Galoise | Wystan | Ysolde | Brannoc | Thessaly
        | Dorrit | Lazlow | Merrin | Opaline | Rusk | Vesna | Calder | Junia | Anselm"""
    ),
    "place": _split(
        """Harrowmere | the Lower Quay | Saltmarsh Lane | Kestrel Point | the old tannery | Vennholt
        | Mossgate | the ferry stage | Gullhaven | Thornwick | the bell tower | Cinder Row
        | the glassworks | Pellucid Bay | Ashford Steps | the north pier | Dunmarrow | Willet Bridge
        | the rope walk | Ostrel | the grain hall | Fenwater Lock | Copperhill | the weir house"""
    ),
    "thing": _split(
        """brass lantern | ledger | coil of rope | sextant | crate of lemons | cracked bell | map
        | kettle | wooden flute | bolt of linen | rusted key | jar of honey | compass | oil can
        | copper pan | sealed letter | pocket watch | lens | basket of eels | sack of barley | anvil
        | mirror | telescope | bundle of reeds | music box | chisel | lamp glass | saddle | globe"""
    ),
    "plural": _split(
        """lanterns | barrels | oysters | tiles | hinges | candles | blankets | apples | planks
        | anchors | buttons | onions | spools | bricks | plums | ledgers | bottles | nails | ropes
        | herrings | pears | kettles | parcels | oars | cheeses | lemons | walnuts | bolts
        | needles"""
    ),
    "adjective": _split(
        """quiet | stubborn | pale | crooked | borrowed | narrow | patient | hollow | amber | sudden
        | bitter | weathered | careful | unlit | heavy | curious | faded | brisk | damp | silver
        | uneven | grey | tender | restless | plain | distant | chipped | honest | sharp | sleepy"""
    ),
    "colour": _split("ochre | teal | crimson | slate | ivory | indigo | moss | rust | plum | sand"),
    "material": _split("oak | slate | tin | wool | clay | bronze | birch | glass | leather | cork"),
    "trade": _split(
        """ropemaker | miller | surveyor | lockkeeper | baker | cartographer | glazier | ferryman
        | apothecary | beekeeper | printer | tinsmith | cooper | weaver | clockmaker | pilot
        | schoolteacher | archivist | stonemason | lamplighter | chandler | midwife"""
    ),
    "weather": _split(
        """fog lay over the water | the wind had turned east | rain drummed on the slates
        | frost whitened the railings | a thin sun came through | thunder rolled behind the hills
        | the tide ran high | snow began to settle | the air smelled of tar | dusk came early"""
    ),
    "when": _split(
        """before breakfast | on the third evening | after the market closed | at low tide
        | near midnight | a week later | while the others slept | in the first days of spring
        | between two showers | as the clock struck seven | by lamplight | on a Thursday
        | without a word | earlier than agreed | long after supper | during the regatta"""
    ),
    "did": _split(
        """carried | hid | mended | sold | examined | returned | weighed | polished | traded | lost
        | painted | wrapped | borrowed | buried | measured | opened | dropped | admired | described
        | repaired | counted | lifted | sketched | refused"""
    ),
    "said": _split(
        """answered | whispered | insisted | admitted | called out | muttered | explained | laughed
        | objected | remembered | asked | sighed"""
    ),
    "felt": _split(
        """tired | proud | uneasy | relieved | puzzled | almost cheerful | ashamed | certain
        | foolish | grateful | cold | wide awake | half asleep | strangely calm"""
    ),
    "month": _split("January | March | April | June | July | September | October | December"),
    "day": _split("first | second | fourth | seventh | ninth | tenth | twelfth | twentieth"),
    "metric": _split(
        """latency | throughput | queue depth | error rate | cache hits | temperature | pressure
        | humidity | battery level | packet loss | disk usage | memory"""
    ),
    "service": _split(
        "gateway | ingest | billing | search | mailer | scheduler | archive | auth | sensor-hub"
    ),
    "ingredient": _split(
        """flour | butter | brown sugar | leeks | red lentils | thyme | cream | chestnuts | garlic
        | smoked paprika | barley | lemon zest | parsnips | mustard seed | honey | fennel | rice
        | almonds | nutmeg | white wine | mushrooms | oat milk | rosemary | dried figs | ginger"""
    ),
    "vessel": _split("pan | bowl | stockpot | roasting tin | jug | casserole | skillet | saucepan"),
    "texture": _split("smooth | golden | thick | soft | glossy | just firm | crumbly | fragrant"),
    "party": _split(
        "the Lessor | the Lessee | the Agent | the Carrier | the Guarantor | the Owner"
    ),
    "duty": _split(
        """maintain the {thing} in good repair | give written notice of any damage to {place}
        | pay the sum of {d4} crowns | deliver {d2} {plural} to {place} | keep a list of {plural}
        | insure the {material} fittings | admit the {trade} to inspect it | refrain from subletting
        | clear the {adjective} passage | return each {thing} unaltered | bear the cost of {plural}
        | appoint a {trade} at its own expense | store fewer than {d3} {plural}
        | supply the {trade} with {material} and {plural} | settle all accounts in {month}"""
    ),
    "noun_code": _split(
        """order | parcel | reading | ticket | route | batch | sample | voucher | window | packet
        | invoice | token | berth | shift | cursor | bucket | signal | tile"""
    ),
    "verb_code": _split(
        """merge | score | trim | rank | fold | split | scan | pack | align | count | group | prune
        | encode | route | settle | flatten | drain | label"""
    ),
}
