"""Every method has its name, and what it runs as, in the glossary of CONTRIBUTING.md."""

import re
from pathlib import Path
from typing import get_args

from delama_ros.experiments.baselines.graph_learners import GRIDS, RUNS_AS
from delama_ros.experiments.baselines.registry import PACKAGED
from delama_ros.experiments.mapping import methods
from delama_ros.experiments.mapping.drift import STARTS
from delama_ros.experiments.mapping.two_buildings import GRAPHS, UNKNOWN
from delama_ros.experiments.runs_as import RunsAs
from delama_ros.experiments.tasks.evaluate import runs_as
from delama_ros.experiments.tasks.variants import VARIANTS

ROOT = Path(__file__).parents[2]


def glossary() -> dict[str, str]:
    """Return what each method runs as, according to the table."""
    text = (ROOT / 'CONTRIBUTING.md').read_text()
    table = text.partition('| method | distance')[2].partition('\n\n')[0]
    found = {}
    for line in table.splitlines()[2:]:
        names, _, kinds = line.strip('|').split(' | ')
        listed = re.findall('`(.+?)`', names)
        each = kinds.strip().split(', ')
        for k, name in enumerate(listed):
            one = len(listed) == len(each) > 1  # one kind for each of the names
            found[name] = each[k] if one else kinds.strip()
    return found


def test_methods_run_as_the_glossary_says():
    wanted = glossary()
    assert RUNS_AS.keys() == GRIDS.keys()
    for name in [*VARIANTS, *PACKAGED, *GRIDS]:
        listed = re.sub(r'_\d.*', '_SHARE', name)
        assert wanted[listed].partition(';')[0] == runs_as(name), name
    for name, record in methods.METHODS.items():
        assert wanted[name].rpartition('in mapping ')[2] == record.runs_as, name
    poses = [name for names in STARTS.values() for name in names]
    assert {wanted[name] for name in [*GRAPHS, *UNKNOWN, *poses]} == {'agents'}


def test_only_words_of_the_list_are_used():
    kinds = {kind for text in glossary().values() for kind in text.split('; in mapping ')}
    assert kinds == set(get_args(RunsAs))
