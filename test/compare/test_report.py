"""Tables: ours beside the paper's, in all formats."""

import csv

from delama_ros.compare import report
from delama_ros.compare.mapping import METHODS as MAPPING
from delama_ros.compare.printed import PRINTED, STEPS
from delama_ros.compare.run import METHODS, methods_of

ROWS = [
    {
        'method': 'ditto', 'label': 'Ditto', 'setup': 'plain', 'mean': [20.0, 0.5], 'error':
        [1.0, 0.05], 'bytes': 1234, 'rounds': 7,
    },
    {
        'method': 'delama', 'label': 'DeLAMA (ours)', 'setup': 'delama', 'mean': [2.0, 0.05],
        'error': [0.1, 0.001], 'bytes': 1000, 'rounds': 5, 'graph_error': [0.5, 0.25],
    },
]


def test_the_table_shows_both_figures_and_what_they_cost() -> None:
    header, lines = report.table(ROWS, 'regression', [1])
    assert header == ['method', 'set-up', 't=1', 'paper t=1', 'kB/step', 'rounds', 'GMSE',
                      'paper GMSE']
    assert lines[0] == ['Ditto', 'plain', '20.0 ± 1.0', '16.3', '1.234', '7', '–', '–']
    assert lines[1] == ['DeLAMA (ours)', 'delama', '2.00 ± 0.10', '2.34', '1', '5', '0.50', '0.30']


def test_the_margin_is_over_methods_without_a_server() -> None:
    assert report.margins(ROWS, [1], 'mse') == []  # Ditto has one
    dsgd = {**ROWS[0], 'method': 'dsgd', 'label': 'DSGD'}
    (text,) = report.margins([*ROWS, dsgd, {**dsgd, 'mean': [9.0, 9.0]}], [1, 2], 'mse')
    assert 't=1 2.00 against 9.00 (DSGD, plain)' in text
    assert 't=2 0.0500 against 0.500 (DSGD, plain)' in text


def test_all_files_are_written(tmp_path) -> None:
    report.write(tmp_path, ROWS, 'regression', [1], 'mse')
    assert (tmp_path / 'regression.md').read_text().count('\n') == 4
    with (tmp_path / 'regression.csv').open() as file:
        lines = list(csv.reader(file))
    assert lines[1] == ['ditto', 'plain', '1', '20.0', '1.0', '1234', '7']
    assert len(lines) == 5
    assert (tmp_path / 'regression.png').read_bytes().startswith(b'\x89PNG')


def test_every_printed_row_has_a_method_here() -> None:
    for task, rows in PRINTED.items():
        known = MAPPING if task == 'mapping' else methods_of(task)
        assert set(rows) <= set(known)
        for row in rows.values():
            assert set(row) <= set(STEPS[task])
    assert set(methods_of('regression')) < set(METHODS)
