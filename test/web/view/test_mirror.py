"""A browser is told what it does not know yet, and nothing twice."""

import io
import json
import struct
from typing import Any

import numpy as np
from PIL import Image

from delama_ros.web.view.mirror import Mirror
from delama_ros.web.view.watch import Watch


class Page:
    """What a browser makes of updates."""

    def __init__(self, watch: Watch) -> None:
        self._mirror = Mirror(watch)
        self.log: list[Any] = []
        self.trails: dict[str, list[Any]] = {}

    def ask(self, at: float | None = None) -> dict[str, Any]:
        data = self._mirror.update(at)
        self.size = len(data)
        (length,) = struct.unpack('<I', data[:4])
        text: dict[str, Any] = json.loads(data[4 : 4 + length])
        self._rest = data[4 + length :]
        if text['log']:
            self.log[text['log']['from'] :] = text['log']['new']
        for change in text['changes']:
            if 'trail' in change:
                trail = self.trails.setdefault(change['id'], [])
                points = np.frombuffer(self.attached(change['trail']['new']), '<f4')
                trail[change['trail']['from'] :] = points.reshape(-1, 2).tolist()
        return text

    def attached(self, where: list[int]) -> bytes:
        return self._rest[where[0] : where[0] + where[1]]


def changed(text: dict[str, Any], key: str) -> list[str]:
    return [change['id'] for change in text['changes'] if key in change]


def test_the_first_update_has_all_and_the_next_nothing(make_fleet: Any) -> None:
    watch = Watch('a run', live=False)
    fleet = make_fleet('/robot10', '/robot2')
    fleet.run(watch, 3)
    page = Page(watch)
    text = page.ask()
    assert text['robots'] == ['/robot2', '/robot10']
    for key in ('facts', 'map', 'place', 'trail'):
        assert sorted(changed(text, key)) == ['/robot10', '/robot2'], key
    assert len(text['truths']) == 1
    assert len(text['scores']['new']) == 6
    change = next(c for c in text['changes'] if c['id'] == '/robot2')
    picture = Image.open(io.BytesIO(page.attached(change['map']['png'])))
    assert picture.size == fleet.plan.shape[::-1]
    again = page.ask()
    assert again['changes'] == again['truths'] == []
    assert again['log'] is again['scores'] is None
    assert page.size < 300


def test_only_what_has_changed_is_told(make_fleet: Any) -> None:
    watch = Watch('a run', live=False)
    fleet = make_fleet('/ada', '/bob')
    fleet.run(watch, 2)
    page = Page(watch)
    page.ask()
    fleet.feed(watch, '/ada/map', fleet.map('/ada', 3), 4.5)
    text = page.ask()
    assert changed(text, 'map') == ['/ada']
    assert changed(text, 'place') == changed(text, 'trail') == []


def test_any_moment_can_be_asked_for(make_fleet: Any) -> None:
    watch = Watch('a run', live=False)
    fleet = make_fleet('/ada', '/bob', steps=8)
    fleet.run(watch)
    watch.add_line(16.0, 20, 'ada', 'the end')
    page = Page(watch)
    page.ask()
    assert len(page.trails['/ada']) == 8
    assert len(page.log) == 1
    back = page.ask(6.5)
    facts = {c['id']: c['facts'] for c in back['changes']}
    assert facts['/ada']['row']['step'] == 3
    assert changed(back, 'map') == ['/ada', '/bob']
    assert len(page.trails['/ada']) == 3
    assert page.log == []
    assert back['scores'] is None  # the curve stays whole
    before = page.ask(0.5)
    assert [c['facts']['received'] for c in before['changes']] == [False, False]
    end = page.ask(None)
    assert end['at'] == end['now'] == 16.0
    assert len(page.trails['/ada']) == 8
    assert len(page.log) == 1
    assert page.ask(1e9)['at'] == 16.0
    assert page.ask(-5.0)['at'] == 0.0


def test_twenty_robots_are_told_in_a_fraction_of_their_grids(make_fleet: Any) -> None:
    watch = Watch('a run', live=False)
    fleet = make_fleet(*(f'/robot{i}' for i in range(1, 21)))
    fleet.run(watch, 1)
    page = Page(watch)
    page.ask()
    assert page.size < 20 * fleet.plan.cells.size / 10
