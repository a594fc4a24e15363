"""Names in a text."""

from citemesh.text.names import names


def test_names_are_found_as_they_stand() -> None:
    assert names("Are Christopher Nolan and Sathish Kalathil directors?") == ["Christopher Nolan", "Sathish Kalathil"]
    assert names("Who led the Bank of England in “The Long Year”?") == ["The Long Year", "Bank of England"]
    assert names("what is a pump") == []


def test_chinese_names_stand_between_function_words() -> None:
    assert names("谁设计了江临大桥？") == ["设计", "江临大桥"]
