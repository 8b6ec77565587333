"""Countries, states and continents: a town in one of them does not contradict living in it."""

_NAMES = (
    "africa, alaska, albania, alberta, algeria, america, andorra, angola, argentina, arizona, arkansas, armenia, asia, "
    "australia, austria, azerbaijan, bahamas, bahrain, bangladesh, bavaria, belarus, belgium, belize, benin, bhutan, "
    "bolivia, bosnia, botswana, brazil, britain, brittany, brunei, bulgaria, burundi, california, cambodia, canada, "
    "catalonia, chad, chile, china, colombia, colorado, congo, connecticut, costa rica, croatia, cuba, cyprus, czech "
    "republic, czechia, delaware, denmark, ecuador, egypt, el salvador, england, eritrea, estonia, ethiopia, europe, "
    "fiji, finland, florida, france, gabon, gambia, germany, ghana, great britain, greece, grenada, guatemala, guinea, "
    "guyana, haiti, hawaii, hesse, holland, honduras, hungary, iceland, idaho, illinois, india, indiana, iowa, iran, "
    "iraq, ireland, israel, italy, ivory coast, jamaica, japan, jordan, kazakhstan, kentucky, kenya, korea, kosovo, "
    "kuwait, laos, latvia, lebanon, lesotho, liberia, libya, liechtenstein, lithuania, louisiana, luxembourg, "
    "madagascar, maine, malawi, malaysia, mali, malta, maryland, massachusetts, mauritius, mexico, michigan, "
    "minnesota, mississippi, missouri, moldova, monaco, mongolia, montana, montenegro, morocco, mozambique, myanmar, "
    "afghanistan, alabama, namibia, barbados, british columbia, cameroon, dominican republic, nebraska, nepal, new "
    "hampshire, new jersey, new mexico, new south wales, new zealand, georgia, nicaragua, niger, nigeria, indonesia, "
    "kansas, kyrgyzstan, maldives, netherlands, nevada, norway, normandy, north america, north carolina, north dakota, "
    "north korea, north macedonia, northern ireland, saudi arabia, south carolina, sri lanka, turkmenistan, "
    "uzbekistan, ohio, oklahoma, oman, ontario, oregon, pakistan, palestine, panama, paraguay, pennsylvania, peru, "
    "philippines, poland, portugal, qatar, quebec, queensland, rhode island, romania, russia, rwanda, saxony, "
    "scandinavia, scotland, senegal, serbia, singapore, slovakia, slovenia, somalia, south africa, south america, "
    "south dakota, south korea, spain, sudan, sweden, switzerland, syria, taiwan, tajikistan, tanzania, tennessee, "
    "texas, thailand, the netherlands, togo, tunisia, turkey, tuscany, uae, uganda, uk, ukraine, united arab emirates, "
    "united kingdom, united states, uruguay, us, usa, utah, venezuela, vermont, vietnam, virginia, wales, west "
    "virginia, wisconsin, wyoming, yemen, zambia, zimbabwe"
)
_REGIONS = frozenset(_NAMES.split(", "))


def is_region(place: str) -> bool:
    """Return whether a place (lower case) is larger than a town.

    >>> is_region("france"), is_region("paris")
    (True, False)
    """
    return place in _REGIONS
