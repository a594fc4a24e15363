"""Languages by their code of ISO 639-1: their names, their scripts, and the language that a script tells."""

import re

from citemesh.text.scripts import HAN, HANGUL, HIRAGANA, KATAKANA

_NAMES = (
    "aa=Afar ab=Abkhazian ae=Avestan af=Afrikaans ak=Akan am=Amharic an=Aragonese ar=Arabic as=Assamese av=Avaric "
    "ay=Aymara az=Azerbaijani ba=Bashkir be=Belarusian bg=Bulgarian bi=Bislama bm=Bambara bn=Bengali bo=Tibetan "
    "br=Breton bs=Bosnian ca=Catalan ce=Chechen ch=Chamorro co=Corsican cr=Cree cs=Czech cu=Church_Slavonic "
    "cv=Chuvash cy=Welsh da=Danish de=German dv=Divehi dz=Dzongkha ee=Ewe el=Greek en=English eo=Esperanto "
    "es=Spanish et=Estonian eu=Basque fa=Persian ff=Fulah fi=Finnish fj=Fijian fo=Faroese fr=French "
    "fy=Western_Frisian ga=Irish gd=Scottish_Gaelic gl=Galician gn=Guarani gu=Gujarati gv=Manx ha=Hausa he=Hebrew "
    "hi=Hindi ho=Hiri_Motu hr=Croatian ht=Haitian hu=Hungarian hy=Armenian hz=Herero ia=Interlingua id=Indonesian "
    "ie=Interlingue ig=Igbo ii=Sichuan_Yi ik=Inupiaq io=Ido is=Icelandic it=Italian iu=Inuktitut ja=Japanese "
    "jv=Javanese ka=Georgian kg=Kongo ki=Kikuyu kj=Kuanyama kk=Kazakh kl=Kalaallisut km=Khmer kn=Kannada ko=Korean "
    "kr=Kanuri ks=Kashmiri ku=Kurdish kv=Komi kw=Cornish ky=Kyrgyz la=Latin lb=Luxembourgish lg=Ganda li=Limburgan "
    "ln=Lingala lo=Lao lt=Lithuanian lu=Luba-Katanga lv=Latvian mg=Malagasy mh=Marshallese mi=Maori mk=Macedonian "
    "ml=Malayalam mn=Mongolian mr=Marathi ms=Malay mt=Maltese my=Burmese na=Nauru nb=Norwegian_Bokmål "
    "nd=North_Ndebele ne=Nepali ng=Ndonga nl=Dutch nn=Norwegian_Nynorsk no=Norwegian nr=South_Ndebele nv=Navajo "
    "ny=Chichewa oc=Occitan oj=Ojibwa om=Oromo or=Odia os=Ossetian pa=Punjabi pi=Pali pl=Polish ps=Pashto "
    "pt=Portuguese qu=Quechua rm=Romansh rn=Rundi ro=Romanian ru=Russian rw=Kinyarwanda sa=Sanskrit sc=Sardinian "
    "sd=Sindhi se=Northern_Sami sg=Sango si=Sinhala sk=Slovak sl=Slovenian sm=Samoan sn=Shona so=Somali "
    "sq=Albanian sr=Serbian ss=Swati st=Southern_Sotho su=Sundanese sv=Swedish sw=Swahili ta=Tamil te=Telugu "
    "tg=Tajik th=Thai ti=Tigrinya tk=Turkmen tl=Tagalog tn=Tswana to=Tonga tr=Turkish ts=Tsonga tt=Tatar tw=Twi "
    "ty=Tahitian ug=Uighur uk=Ukrainian ur=Urdu uz=Uzbek ve=Venda vi=Vietnamese vo=Volapük wa=Walloon wo=Wolof "
    "xh=Xhosa yi=Yiddish yo=Yoruba za=Zhuang zh=Chinese zu=Zulu"
)
LANGUAGE_NAMES = {code: name.replace("_", " ") for code, name in (entry.split("=") for entry in _NAMES.split())}
"""English names, as an instruction to a model gives them."""

# Scripts, as citemesh.text.scripts names them, of languages that are not written in Latin letters.
_LANGUAGES = {
    "han": "zh",
    "kana": "ja",
    "hangul": "ko",
    "cyrillic": "ab av ba be bg ce cu cv kk kv ky mk mn os ru sr tg tt uk",
    "greek": "el",
    "hebrew": "he yi",
    "arabic": "ar fa ks ps sd ug ur",
    "devanagari": "hi mr ne sa",
    "thai": "th",
}
_SCRIPTS = {code: script for script, codes in _LANGUAGES.items() for code in codes.split()}
_OTHER = "am as bn bo dv dz gu hy ii iu ka km kn lo ml my or pa pi si ta te ti"
"""Languages of scripts that `script_of` doesn't tell apart."""

_TELLING_LETTERS = {
    "ja": f"{HIRAGANA}{KATAKANA}",
    "ko": HANGUL,
    "th": "\u0e01-\u0e4e",
    "el": "\u0370-\u03ff",
    "he": "\u05d0-\u05ea",
    "zh": HAN,
}
"""Letters of scripts that one language alone uses. Kana stand before Han characters, since Japanese uses both."""
_SAMPLE = 20_000
_SHARE = 0.1
_LETTERS = re.compile(r"[^\W\d_]")


def script_of_language(code: str) -> str:
    """Returns the script that a language is written in; "other" for one that `script_of` doesn't know."""
    return "other" if code in _OTHER.split() else _SCRIPTS.get(code, "latin")


def language_by_script(text: str) -> str:
    """Returns the code of the language whose own letters make up a tenth of a text's first 20,000 characters.

    Empty where there is none: Latin, Cyrillic and Arabic letters tell nothing, as many languages use them.
    """
    sample = text[:_SAMPLE]
    letters = len(_LETTERS.findall(sample))
    for code, script in _TELLING_LETTERS.items():
        if letters and len(re.findall(f"[{script}]", sample)) >= _SHARE * letters:
            return code
    return ""
