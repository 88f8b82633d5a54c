"""The names of months in some languages, as tables write them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

Months = tuple[str, ...]
"""The names of the twelve months, from January on."""

ENGLISH = "January February March April May June July August September October November December"
ENGLISH_SHORT = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"

_WRITTEN = (
    *(ENGLISH_SHORT, ENGLISH),
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec",
    "Jan. Feb. Mar. Apr. May Jun. Jul. Aug. Sep. Oct. Nov. Dec.",
    "Jan. Feb. March April May June July Aug. Sept. Oct. Nov. Dec.",
    # German, in Austria too.
    "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Januar Februar Maerz April Mai Juni Juli August September Oktober November Dezember",
    "Jänner Februar März April Mai Juni Juli August September Oktober November Dezember",
    "Jan Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "Jän Feb Mrz Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.",
    "Jan. Feb. Mär. Apr. Mai Jun. Jul. Aug. Sep. Okt. Nov. Dez.",
    # French.
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "janv févr mars avr mai juin juil août sept oct nov déc",
    "janv fév mars avr mai juin juil août sept oct nov déc",
    "jan fév mar avr mai jun jul aoû sep oct nov déc",
    "jan fév mar avr mai jui jul aoû sep oct nov déc",
    "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
    "janv. fév. mars avr. mai juin juill. août sept. oct. nov. déc.",
    # Spanish.
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "enero febrero marzo abril mayo junio julio agosto setiembre octubre noviembre diciembre",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "ene feb mar abr may jun jul ago sept oct nov dic",
    "ene. feb. mar. abr. may. jun. jul. ago. sep. oct. nov. dic.",
    # Italian.
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "gen. feb. mar. apr. mag. giu. lug. ago. set. ott. nov. dic.",
    # Portuguese.
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "jan. fev. mar. abr. mai. jun. jul. ago. set. out. nov. dez.",
    # Dutch.
    "januari februari maart april mei juni juli augustus september oktober november december",
    "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "jan. feb. mrt. apr. mei jun. jul. aug. sep. okt. nov. dec.",
    # Polish, behind a day and alone.
    "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
    "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
    "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    # Czech, behind a day and alone.
    "ledna února března dubna května června července srpna září října listopadu prosince",
    "leden únor březen duben květen červen červenec srpen září říjen listopad prosinec",
    # Swedish, Danish and Norwegian.
    "januari februari mars april maj juni juli augusti september oktober november december",
    "januar februar marts april maj juni juli august september oktober november december",
    "januar februar mars april mai juni juli august september oktober november desember",
    "jan feb mar apr maj jun jul aug sep okt nov dec",
    "jan feb mar apr mai jun jul aug sep okt nov des",
    "jan. feb. mars apr. maj juni juli aug. sep. okt. nov. dec.",
    "jan. feb. mar. apr. maj jun. jul. aug. sep. okt. nov. dec.",
    # Finnish, behind a day, and Romanian.
    "tammikuuta helmikuuta maaliskuuta huhtikuuta toukokuuta kesäkuuta heinäkuuta elokuuta syyskuuta "
    "lokakuuta marraskuuta joulukuuta",
    "ianuarie februarie martie aprilie mai iunie iulie august septembrie octombrie noiembrie decembrie",
    # Russian, behind a day and short, and Turkish.
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "янв фев мар апр май июн июл авг сен окт ноя дек",
    "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
    "Oca Şub Mar Nis May Haz Tem Ağu Eyl Eki Kas Ara",
)


def spellings(written: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Every list of names as it stands, and in other letters: large or small ones, without accents."""
    for names in written:
        for spelled in (names, names.lower(), names.title(), names.upper()):
            yield tuple(spelled.split())
            yield tuple(_plain(spelled).split())


def _plain(text: str) -> str:
    return "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))


CALENDARS: tuple[Months, ...] = tuple(dict.fromkeys(spellings(_WRITTEN)))
"""The names of the twelve months as a column may write them all; of several that fit, the first is usual."""

NAMES = tuple(sorted({name for months in CALENDARS for name in months}))
"""All these names."""
