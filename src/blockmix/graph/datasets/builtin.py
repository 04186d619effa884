"""A network that comes with blockmix: who meets whom in Les Misérables.

Two characters are linked if they appear together in a chapter of Victor Hugo's novel: 77 characters, 254
links. Compiled by D. E. Knuth, The Stanford GraphBase: A Platform for Combinatorial Computing,
Addison-Wesley, 1993. Names are spelled as in the copy that networkx carries.
"""

from __future__ import annotations

from collections.abc import Iterator

from blockmix.graph.graph import Graph

# Each paragraph is a character and those it meets who have no paragraph above; indented lines continue it.
_MEETINGS = """
Napoleon: Myriel
Myriel: MlleBaptistine MmeMagloire CountessDeLo Geborand Champtercier Cravatte Count OldMan Valjean
MlleBaptistine: MmeMagloire Valjean
MmeMagloire: Valjean
Valjean: Labarre Marguerite MmeDeR Isabeau Gervais Fantine MmeThenardier Thenardier Cosette Javert
    Fauchelevent Bamatabois Simplice Scaufflaire Woman1 Judge Champmathieu Brevet Chenildieu Cochepaille
    Woman2 MotherInnocent Gavroche Gillenormand MlleGillenormand Marius Enjolras Bossuet Gueulemer Babet
    Claquesous Montparnasse Toussaint
Marguerite: Fantine
Listolier: Tholomyes Fameuil Blacheville Favourite Dahlia Zephine Fantine
Tholomyes: Fameuil Blacheville Favourite Dahlia Zephine Fantine Cosette Marius
Fameuil: Blacheville Favourite Dahlia Zephine Fantine
Blacheville: Favourite Dahlia Zephine Fantine
Favourite: Dahlia Zephine Fantine
Dahlia: Zephine Fantine
Zephine: Fantine
Fantine: MmeThenardier Thenardier Javert Bamatabois Perpetue Simplice
MmeThenardier: Thenardier Cosette Javert Eponine Anzelma Magnon Gueulemer Babet Claquesous
Thenardier: Cosette Javert Pontmercy Boulatruelle Eponine Anzelma Gavroche Marius Gueulemer Babet Claquesous
    Montparnasse Brujon
Cosette: Javert Woman2 Gillenormand MlleGillenormand LtGillenormand Marius Toussaint
Javert: Fauchelevent Bamatabois Simplice Woman1 Woman2 Gavroche Enjolras Gueulemer Babet Claquesous
    Montparnasse Toussaint
Fauchelevent: MotherInnocent Gribier
Bamatabois: Judge Champmathieu Brevet Chenildieu Cochepaille
Perpetue: Simplice
Judge: Champmathieu Brevet Chenildieu Cochepaille
Champmathieu: Brevet Chenildieu Cochepaille
Brevet: Chenildieu Cochepaille
Chenildieu: Cochepaille
Pontmercy: MmePontmercy Marius
Eponine: Anzelma Marius Mabeuf Courfeyrac Gueulemer Babet Claquesous Montparnasse Brujon
MmeBurgon: Jondrette Gavroche
Gavroche: Marius Mabeuf Enjolras Combeferre Prouvaire Feuilly Courfeyrac Bahorel Bossuet Joly Grantaire
    Gueulemer Babet Montparnasse Child1 Child2 Brujon MmeHucheloup
Gillenormand: Magnon MlleGillenormand LtGillenormand Marius BaronessT
MlleGillenormand: MmePontmercy MlleVaubois LtGillenormand Marius
LtGillenormand: Marius
Marius: BaronessT Mabeuf Enjolras Combeferre Feuilly Courfeyrac Bahorel Bossuet Joly
Mabeuf: Enjolras Combeferre Feuilly Courfeyrac Bahorel Bossuet Joly MotherPlutarch
Enjolras: Combeferre Prouvaire Feuilly Courfeyrac Bahorel Bossuet Joly Grantaire Claquesous MmeHucheloup
Combeferre: Prouvaire Feuilly Courfeyrac Bahorel Bossuet Joly Grantaire
Prouvaire: Feuilly Courfeyrac Bahorel Bossuet Joly Grantaire
Feuilly: Courfeyrac Bahorel Bossuet Joly Grantaire
Courfeyrac: Bahorel Bossuet Joly Grantaire MmeHucheloup
Bahorel: Bossuet Joly Grantaire MmeHucheloup
Bossuet: Joly Grantaire MmeHucheloup
Joly: Grantaire MmeHucheloup
Grantaire: MmeHucheloup
Gueulemer: Babet Claquesous Montparnasse Brujon
Babet: Claquesous Montparnasse Brujon
Claquesous: Montparnasse Brujon
Montparnasse: Brujon
Child1: Child2
"""


def les_miserables() -> Graph:
    """Return the characters of Les Misérables, linked where they meet in a chapter.

    >>> les_miserables()
    Graph(77 nodes, 254 links, labels 'Napoleon' .. 'MotherPlutarch')
    """
    return Graph.from_edges(list(_links()))


def _links() -> Iterator[tuple[str, str]]:
    name = ""
    for word in _MEETINGS.split():
        if word.endswith(":"):
            name = word[:-1]
        else:
            yield name, word
