"""Function words by language: what a query may lose without losing its meaning."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_WORDS: Final = {
    "en": """
        a about above after again against all also am an and any are aren arent as at be because been before being
        below between both but by can cannot cant could couldnt did didnt do does doesnt doing dont down during each
        few for from further had hadnt has hasnt have havent having he her here hers herself him himself his how i if
        in into is isnt it its itself just me more most my myself no nor not now of off on once only or other our ours
        ourselves out over own same shall she should shouldnt so some such than that the their theirs them themselves
        then there these they this those through to too under until up upon very was wasnt we were werent what when
        where which while who whom whose why will with wont would wouldnt you your yours yourself yourselves""",
    "de": """
        aber als am an auch auf aus bei bin bis bist da damit das dass dein deine dem den der des dessen die dies diese
        dieser dieses doch dort du durch ein eine einem einen einer eines er es euer für hat hatte hier ich ihm ihn ihr
        ihre im in ist ja jede jeder kann kein keine man mein mit nach nicht noch nun nur ob oder ohne sehr sein seine
        sich sie sind so über um und uns unser unter vom von vor war waren warum was weil welche welcher welches wem
        wen wenn wer werden wessen wie wieder wir wird wo wurde wurden zu zum zur zwischen""",
    "fr": """
        à ai au aucun aussi aux avec c ce ces cet cette chez ci comme comment d dans de des donc dont du elle elles en
        entre es est et étaient était été être eu il ils j je l la le les leur leurs lui ma mais me même mes moi mon n
        ne ni nos notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa
        sans se sera ses si son sont sous sur t ta te tes toi ton tu un une vos votre vous y""",
    "es": """
        a al algo como cómo con contra cual cuál cuales cuáles cuando cuándo de del desde donde dónde durante e el él
        ella ellas ellos en entre era eran es esa esas ese eso esos esta está estas este esto estos fue fueron ha han
        hasta hay la las le les lo los más me mi mis muy ni no nos nosotros o os para pero por porque qué que quien
        quién quienes se sea ser si sí sin sobre son su sus también te tiene tu tú tus un una unas uno unos y ya yo""",
    "it": """
        a ad agli ai al alla alle allo anche c che chi ci come con cosa così cui d da dagli dai dal dalla dalle dallo
        dei del della delle dello di dove e è ed era erano essere fra gli ha hanno i il in io l la le lei li lo loro lui
        ma me mi mia mio ne nei nel nella nelle nello no noi non o per perché più qual quale quali quando quanto quella
        quelle quelli quello questa queste questi questo se sei si sia siamo sono su sua sue sugli sui sul sulla sulle
        suo suoi ti tra tu un una uno vi voi""",
    "nl": """
        aan al als bij dan dat de den der deze die dit door dus een en er ge geen had heb hebben heeft hem het hier hij
        hoe hun ik in is ja je kan maar me meer men met mij mijn na naar niet nog nu of om ons ook op over te tegen toch
        toen tot u uit van veel voor waar waarom wanneer waren was wat we welk welke werd wie wij worden wordt zal ze
        zei zich zij zijn zo zonder zou""",
    "pt": """
        a ao aos as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era eram essa
        essas esse esses esta está estas este estes eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito
        na não nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais
        quando que quem são se sem ser seu seus só sua suas também te tem têm tu um uma você vocês""",
    "ru": """
        а бы был была были было быть в вам вас весь во вот все всё вы где да для до его её если есть еще ещё же за и из
        или им их к как какая какие какой когда кого которая которые который кто ли мне мы на над не нет ни но ну о об
        он она они оно от по под при с со так также там то тот у уже чего чем что чтобы эта эти это этот я""",
}

# Pairs of characters that ask or bind in Chinese and Japanese, as the bigrams a query is cut into.
_BIGRAMS: Final = """
    什么 什麼 怎么 怎麼 怎样 怎樣 如何 为什 為什 是什 么是 的是 了什 有什 哪些 哪个 哪個 哪里 哪裡 哪儿 哪一 哪位
    有哪 是哪 谁是 是谁 誰是 是誰 多少 是多 几个 幾個 是否 是不 请问 請問 以及 或者 而且 但是 因为 因為 所以 如果
    这个 這個 那个 那個 这些 那些 一个 一個 我们 我們 他们 他們 你们 です ます でし まし した して する され れる
    られ てい いる ある こと もの から まで より この その あの どの には では とは のか なに 何が 何を すか どこ
    いつ だれ 誰が どう なぜ とい いう いて った たか ない
"""
_SINGLES: Final = (
    "的了是在和与與或就也吗嗎呢吧啊之其把被让讓给給对對从從到个個这這那谁誰哪何很都还還又のはがをにでとへもやかね"
)


@lru_cache(maxsize=16)
def stop_words(language: str) -> frozenset[str]:
    """Casefolded words with apostrophes removed; empty for a language without a list."""
    return frozenset(_WORDS.get(language, "").split())


@lru_cache(maxsize=1)
def stop_bigrams() -> frozenset[str]:
    """What a Chinese or Japanese query may lose: bigrams, and characters that stand alone."""
    return frozenset(_BIGRAMS.split()) | frozenset(_SINGLES)
