"""The names of the days of the week in some languages, as tables write them."""

from __future__ import annotations

from .month_names import spellings

Days = tuple[str, ...]
"""The names of the seven days, from Monday on."""

_WRITTEN = (
    # German.
    *("Mo Di Mi Do Fr Sa So", "Mon Die Mit Don Fre Sam Son"),
    "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "Montag Dienstag Mittwoch Donnerstag Freitag Sonnabend Sonntag",
    # French.
    *("lundi mardi mercredi jeudi vendredi samedi dimanche", "lun mar mer jeu ven sam dim"),
    # Spanish.
    *("lunes martes miércoles jueves viernes sábado domingo", "lun mar mié jue vie sáb dom"),
    # Italian.
    *("lunedì martedì mercoledì giovedì venerdì sabato domenica", "lun mar mer gio ven sab dom"),
    # Portuguese.
    "seg ter qua qui sex sáb dom",
    # Dutch.
    *("maandag dinsdag woensdag donderdag vrijdag zaterdag zondag", "ma di wo do vr za zo"),
    # Polish.
    *("poniedziałek wtorek środa czwartek piątek sobota niedziela", "pon wt śr czw pt sob niedz"),
    # Czech.
    *("pondělí úterý středa čtvrtek pátek sobota neděle", "po út st čt pá so ne"),
    # Swedish, Danish and Norwegian.
    *("måndag tisdag onsdag torsdag fredag lördag söndag", "mån tis ons tor fre lör sön"),
    *("mandag tirsdag onsdag torsdag fredag lørdag søndag", "man tir ons tor fre lør søn"),
    "mandag tirsdag onsdag torsdag fredag laurdag sundag",
)

WEEKS: tuple[Days, ...] = tuple(dict.fromkeys(spellings(_WRITTEN)))
"""The names of the seven days as a column may write them all; of several that fit, the first is usual."""

DAY_NAMES = tuple(sorted({name for days in WEEKS for name in days}))
"""All these names."""
