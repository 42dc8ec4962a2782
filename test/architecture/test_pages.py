"""Pages are finished: no placeholders, and links that lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob('*.md'), *(ROOT / 'docs').rglob('*.md')])


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_finished(page):
    text = page.read_text()
    assert '@@' not in text
    for target in re.findall(r'\]\(([^)#\s]+)', text):
        if '://' not in target:
            assert (page.parent / target).exists(), f'{page}: {target} is missing'
