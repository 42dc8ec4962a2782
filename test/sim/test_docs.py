from pathlib import Path

from delama_ros.robot.parameters import SIMULATOR

DOCS = Path(__file__).resolve().parents[2] / 'docs'


def test_every_parameter_is_in_the_table():
    text = (DOCS / 'simulator.md').read_text()
    for name, option in SIMULATOR.items():
        assert f'| `{name}` |' in text
        assert option.text in text, name


def test_the_contact_sheet_is_small():
    assert (DOCS / 'images' / 'plans.png').stat().st_size < 300_000
