"""Tables: ours beside the paper's, in all formats."""

import csv

from delama_ros.compare import report
from delama_ros.compare.mapping import METHODS as MAPPING
from delama_ros.compare.printed import PRINTED, STEPS
from delama_ros.compare.run import METHODS, methods_of

ROWS = [
    {
        'method': 'ditto', 'label': 'Ditto', 'setup': 'plain', 'mean': [20.0, 0.5], 'error':
        [1.0, 0.05], 'bytes': 1234, 'rounds': 7, 'scores': [[19.0, 0.4], [21.0, 0.6]],
    },
    {
        'method': 'delama', 'label': 'DeLAMA (ours)', 'setup': 'delama', 'mean': [2.0, 0.05],
        'error': [0.1, 0.001], 'bytes': 1000, 'rounds': 5, 'graph_error': [0.5, 0.25],
        'scores': [[1.9, 0.049], [2.1, 0.051]],
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
    better = {**dsgd, 'mean': [9.0, 9.0], 'scores': [[8.0, 9.0], [10.0, 9.0]]}
    (text,) = report.margins([*ROWS, dsgd, better], [1, 2], 'mse')
    # 6.1 and 7.9 in the two sequences, which is less sure than both means would let one think
    assert 't=1 2.00 against 9.00 (DSGD, plain), 7.00 ± 0.90 ahead' in text
    assert 't=2 0.0500 against 0.500 (DSGD, plain), 0.450 ± 0.099 ahead' in text


def test_one_sequence_has_no_spread() -> None:
    assert report.standard_error([[1.0, 2.0]]).tolist() == [0.0, 0.0]


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
